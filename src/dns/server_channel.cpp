#include "dns/server_channel.hpp"

#include "dns/host_name.hpp"
#include "dns/message.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/os/process.hpp>
#include <fairlead/io/epoll_driver.hpp>

#include <arpa/nameser.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include <ares.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <utility>

namespace fairlead::dns::detail {
namespace {

// Once in the process; it is never undone, as other libraries may use c-ares, too.
int init_library() {
    static const int status = ::ares_library_init(ARES_LIB_INIT_ALL);
    return status;
}

std::error_code code_of(int status) noexcept {
    switch (status) {
        case ARES_SUCCESS:
            return {};
        case ARES_ENODATA:
            return errc::no_data;
        case ARES_ENOTFOUND:
            return errc::not_found;
        case ARES_ESERVFAIL:
        case ARES_ENOTIMP:
        case ARES_EFORMERR:
            return errc::server_failed;
        case ARES_EREFUSED:
            return errc::refused;
        case ARES_EBADRESP:
            return errc::bad_answer;
        case ARES_EBADNAME:
        case ARES_EBADQUERY:
            return errc::bad_name;
        case ARES_ENOMEM:
            return std::make_error_code(std::errc::not_enough_memory);
        default:  // ARES_ECONNREFUSED, ARES_ETIMEOUT, ARES_EOF
            return errc::no_answer;
    }
}

int clamped(auto value) noexcept {
    return static_cast<int>(std::clamp<decltype(value)>(value, 1, std::numeric_limits<int>::max()));
}

// The records of a message, whose aliases c-ares has followed. The least TTL of them counts: c-ares
// has taken that of the aliases into account.
answer addresses_of(std::span<const unsigned char> message, family of, std::size_t most) {
    answer said;
    int ttl = std::numeric_limits<int>::max();
    const auto add = [&](const auto& socket_address, int of_record) {
        said.addresses.emplace_back(reinterpret_cast<const sockaddr*>(&socket_address),
                                    sizeof(socket_address));
        ttl = std::min(ttl, of_record);
    };
    int count = clamped(most);
    int status = 0;
    if (of == family::v4) {
        std::vector<ares_addrttl> found(static_cast<std::size_t>(count));
        status = ::ares_parse_a_reply(message.data(), clamped(message.size()), nullptr,
                                      found.data(), &count);
        for (int i = 0; status == ARES_SUCCESS && i != count; ++i) {
            const ares_addrttl& each = found[static_cast<std::size_t>(i)];
            add(
                sockaddr_in{
                    .sin_family = AF_INET, .sin_port = 0, .sin_addr = each.ipaddr, .sin_zero = {}},
                each.ttl);
        }
    } else {
        std::vector<ares_addr6ttl> found(static_cast<std::size_t>(count));
        status = ::ares_parse_aaaa_reply(message.data(), clamped(message.size()), nullptr,
                                         found.data(), &count);
        for (int i = 0; status == ARES_SUCCESS && i != count; ++i) {
            const ares_addr6ttl& each = found[static_cast<std::size_t>(i)];
            sockaddr_in6 v6{};
            v6.sin6_family = AF_INET6;
            std::memcpy(&v6.sin6_addr, &each.ip6addr, sizeof(v6.sin6_addr));
            add(v6, each.ttl);
        }
    }
    if (status != ARES_SUCCESS) {
        said.failure = code_of(status);
    } else if (said.addresses.empty()) {
        said.failure = errc::no_data;  // an alias without an address
    } else {
        said.ttl = std::chrono::seconds{std::max(ttl, 0)};
    }
    return said;
}

}  // namespace

// A query, which its task and c-ares hold.
struct server_channel::asked {
    asked(server_channel& to, std::string of_host, family of_which)
        : channel{to}, name{std::move(of_host)}, of{of_which} {}

    server_channel& channel;
    const std::string name;
    const family of;
    std::size_t line = 0;     // guarded by the mutex of the channel
    std::error_code refusal;  // of a line before; guarded as `line`
    answer said;              // before `answered`
    event answered;
};

// --- making --------------------------------------------------------------------------------------

server_channel::server_channel(executor where, const resolver_options& options)
    : where_{where}, addresses_max_{options.addresses_max} {
    os::count_forks();
    fork_depth_ = os::fork_depth();
}

server_channel::~server_channel() {
    for (const auto& each : lines_) {
        if (each->channel != nullptr) ::ares_destroy(each->channel);
    }
}

std::expected<std::shared_ptr<server_channel>, std::error_code> server_channel::make(
    executor where, const resolver_options& options) {
    auto made = std::make_shared<server_channel>(where, options);
    if (const std::error_code failure = made->open(options)) return std::unexpected{failure};
    return made;
}

std::error_code server_channel::open(const resolver_options& options) {
    sockets_ = os::unique_fd{::epoll_create1(EPOLL_CLOEXEC)};
    if (!sockets_.valid()) return io::detail::system_error(errno);
    if (const int status = init_library(); status != ARES_SUCCESS) return code_of(status);
    if (const std::error_code failure = open_line(options)) return failure;
    if (const std::error_code failure = read_configuration()) return failure;
    return open_lines(options);
}

std::error_code server_channel::open_line(const resolver_options& options) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    const auto number = static_cast<std::uint32_t>(lines_.size());
    line& made = *lines_.emplace_back(std::make_unique<line>(*this, number));
    std::string resolv_conf = options.resolv_conf;
    ares_options wanted{};
    // Completing names is ours, so that A and AAAA are of the same name.
    wanted.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_NOCHECKRESP;
    wanted.timeout = clamped(duration_cast<milliseconds>(options.try_timeout).count());
    wanted.tries = clamped(options.tries);
    wanted.sock_state_cb = &on_socket;
    wanted.sock_state_cb_data = &made;
    wanted.resolvconf_path = resolv_conf.data();
    const int status = ::ares_init_options(&made.channel, &wanted,
                                           ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                               ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF);
    if (status == ARES_SUCCESS) return {};
    made.channel = nullptr;
    // ARES_EFILE: the configuration cannot be read.
    return status == ARES_ENOMEM ? code_of(status) : std::make_error_code(std::errc::io_error);
}

std::error_code server_channel::read_configuration() {
    ares_options read{};
    int mask = 0;
    const int status = ::ares_save_options(lines_.front()->channel, &read, &mask);
    if (status != ARES_SUCCESS) return code_of(status);
    const std::unique_ptr<ares_options, decltype(&::ares_destroy_options)> frees{
        &read, &::ares_destroy_options};
    const std::span domains{read.domains, static_cast<std::size_t>(std::max(read.ndomains, 0))};
    for (const char* const domain : domains) {
        if (is_host_name(domain)) search_.push_back(normalized(domain));
    }
    if (read.ndots >= 0) ndots_ = static_cast<unsigned>(read.ndots);
    return {};
}

// A line for each server, with those behind it.
std::error_code server_channel::open_lines(const resolver_options& options) {
    std::vector<ares_addr_port_node> nodes;
    ares_addr_port_node* known = nullptr;
    if (options.servers.empty()) {
        const int status = ::ares_get_servers_ports(lines_.front()->channel, &known);
        if (status != ARES_SUCCESS) return code_of(status);
    }
    const std::unique_ptr<ares_addr_port_node, decltype(&::ares_free_data)> frees{
        known, &::ares_free_data};
    for (; known != nullptr; known = known->next) nodes.push_back(*known);
    for (const io::address& from : options.servers) {
        if (from.port() == 0) return std::make_error_code(std::errc::invalid_argument);
        ares_addr_port_node& node = nodes.emplace_back();
        node.family = from.data()->sa_family;
        node.udp_port = node.tcp_port = from.port();
        if (from.is_v6()) {
            std::memcpy(&node.addr.addr6,
                        &reinterpret_cast<const sockaddr_in6*>(from.data())->sin6_addr, 16);
        } else {
            node.addr.addr4 = reinterpret_cast<const sockaddr_in*>(from.data())->sin_addr;
        }
    }
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        nodes[i].next = i + 1 == nodes.size() ? nullptr : &nodes[i + 1];
    }
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        if (i != 0) {
            if (const std::error_code failure = open_line(options)) return failure;
        }
        const int status = ::ares_set_servers_ports(lines_[i]->channel, &nodes[i]);
        if (status == ARES_ENOMEM) return code_of(status);
        if (status != ARES_SUCCESS) return std::make_error_code(std::errc::invalid_argument);
    }
    return {};
}

// --- queries -------------------------------------------------------------------------------------

task<answer> server_channel::ask(std::shared_ptr<server_channel> self, std::string name,
                                 family of) {
    const std::shared_ptr<asked> asks = self->begin(self, name, of);
    self->begun_.set();
    const auto answered = co_await asks->answered.wait();
    answer said;
    if (answered) {
        said = std::move(asks->said);
    } else {
        said.failure = io::detail::code_of(answered.error());
    }
    co_return said;
}

std::shared_ptr<server_channel::asked> server_channel::begin(
    const std::shared_ptr<server_channel>& self, const std::string& name, family of) {
    auto asks = std::make_shared<asked>(*this, name, of);
    auto held = std::make_unique<std::shared_ptr<asked>>(asks);
    const std::lock_guard lock{mutex_};
    if (is_closed_) {
        asks->said.failure = errc::closed;
        asks->answered.set();
        return asks;
    }
    if (!is_pumped_) {
        spawn(where_, pump(self), {.name = "dns servers", .detached = true}).detach();
        is_pumped_ = true;
    }
    ++under_way_;
    send(*held.release());
    return asks;
}

// Requires mutex_. c-ares, which may call back at once, has `query` from now on.
void server_channel::send(std::shared_ptr<asked>& query) noexcept {
    ::ares_query(lines_[query->line]->channel, query->name.c_str(), ns_c_in,
                 query->of == family::v4 ? ns_t_a : ns_t_aaaa, &on_answer, &query);
}

// Under mutex_, or in the destructor.
void server_channel::on_answer(void* given, int status, int, unsigned char* message, int size) {
    std::unique_ptr<std::shared_ptr<asked>> held{static_cast<std::shared_ptr<asked>*>(given)};
    asked& of = **held;
    const std::error_code code = code_of(status);
    if (code == errc::server_failed || code == errc::refused) {
        if (!of.refusal) of.refusal = code;
        if (++of.line < of.channel.lines_.size()) return of.channel.send(*held.release());
    }
    const std::span<const unsigned char> whole{
        message, message == nullptr ? 0 : static_cast<std::size_t>(std::max(size, 0))};
    try {
        if (status == ARES_SUCCESS) {
            of.said = addresses_of(whole, of.of, of.channel.addresses_max_);
        } else if (status == ARES_ECANCELLED || status == ARES_EDESTRUCTION) {
            of.said.failure = of.channel.ends_with_;
        } else {
            // A refusal says more than silence.
            of.said.failure = code == errc::no_answer && of.refusal ? of.refusal : code;
        }
        const bool is_negative =
            of.said.failure == errc::no_data || of.said.failure == errc::not_found;
        if (is_negative) of.said.ttl = negative_ttl(whole);
    } catch (const std::bad_alloc&) {
        of.said.failure = std::make_error_code(std::errc::not_enough_memory);
    }
    --of.channel.under_way_;
    of.answered.set();
}

// Under mutex_, or in the destructor.
void server_channel::on_socket(void* of_line, int fd, int readable, int writable) {
    const line& of = *static_cast<line*>(of_line);
    // A child of fork shares the epoll: a removal there would take the socket from the set of the
    // parent, whose query would end by its time-out.
    if (os::fork_depth() != of.owner.fork_depth_) return;
    const int sockets = of.owner.sockets_.get();
    epoll_event wanted{};
    wanted.events = (readable != 0 ? EPOLLIN : 0U) | (writable != 0 ? EPOLLOUT : 0U);
    wanted.data.u64 = std::uint64_t{of.number} << 32U | static_cast<std::uint32_t>(fd);
    if (wanted.events == 0) {
        ::epoll_ctl(sockets, EPOLL_CTL_DEL, fd, nullptr);
        return;
    }
    // After a failure, for lack of memory, the query ends by its time-out.
    if (::epoll_ctl(sockets, EPOLL_CTL_MOD, fd, &wanted) != 0 && errno == ENOENT) {
        ::epoll_ctl(sockets, EPOLL_CTL_ADD, fd, &wanted);
    }
}

// --- the pump ------------------------------------------------------------------------------------

task<> server_channel::pump(std::shared_ptr<server_channel> self) {
    scheduler& home = co_await current_scheduler();
    std::error_code failure;
    io::watch sockets;
    if (auto made = io::watch::make(io::epoll_driver::of(home), self->sockets_.get())) {
        sockets = std::move(*made);
    } else {
        failure = made.error();
    }
    while (!failure) {
        const auto until = self->next_time_out(sockets);
        if (!until) co_return;
        const auto selected =
            co_await select(on(sockets.until(POLLIN, *until),
                               [&failure](std::expected<short, std::error_code> there) {
                                   if (!there && there.error() != std::errc::timed_out)
                                       failure = there.error();
                               }),
                            on(self->begun_.wait(), [](waited<void>) {}));
        if (!selected) failure = io::detail::code_of(selected.error());
        if (!failure) self->process();
    }
    self->give_up(sockets, failure);
}

// Nothing: no query is under way, and the pump must end.
std::optional<time_point> server_channel::next_time_out(io::watch& sockets) noexcept {
    const std::lock_guard lock{mutex_};
    if (under_way_ == 0) {
        sockets.end();
        is_pumped_ = false;
        return std::nullopt;
    }
    time_point first = never;
    for (const auto& each : lines_) {
        timeval left{};
        const timeval* const next = ::ares_timeout(each->channel, nullptr, &left);
        if (next == nullptr) continue;
        // c-ares counts whole milliseconds: one more, so that the time has come.
        const duration wait = std::chrono::seconds{next->tv_sec} +
                              std::chrono::microseconds{next->tv_usec} +
                              std::chrono::milliseconds{1};
        first = std::min(first, after(clock::now(), wait));
    }
    return first;
}

void server_channel::process() noexcept {
    const std::lock_guard lock{mutex_};
    std::array<epoll_event, 16> there{};
    const int count = ::epoll_wait(sockets_.get(), there.data(), static_cast<int>(there.size()), 0);
    for (int i = 0; i < count; ++i) {
        const epoll_event& each = there[static_cast<std::size_t>(i)];
        // An earlier one may have closed the socket, and opened another one with its number: then
        // there is nothing to read, which does no harm.
        const bool reads = (each.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
        const bool writes = (each.events & EPOLLOUT) != 0;
        const auto fd = static_cast<int>(each.data.u64 & 0xffffffffU);
        ::ares_process_fd(lines_[each.data.u64 >> 32U]->channel, reads ? fd : ARES_SOCKET_BAD,
                          writes ? fd : ARES_SOCKET_BAD);
    }
    for (const auto& each : lines_) {  // what is due
        ::ares_process_fd(each->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    }
}

// Requires mutex_.
void server_channel::cancel_all(std::error_code why) noexcept {
    ends_with_ = why;
    for (const auto& each : lines_) ::ares_cancel(each->channel);
}

// The pump ends: the next query has another one.
void server_channel::give_up(io::watch& sockets, std::error_code why) noexcept {
    const std::lock_guard lock{mutex_};
    cancel_all(why);
    sockets.end();
    is_pumped_ = false;
}

void server_channel::close() noexcept {
    {
        const std::lock_guard lock{mutex_};
        is_closed_ = true;
        cancel_all(errc::closed);
    }
    begun_.set();  // the pump ends
}

}  // namespace fairlead::dns::detail
