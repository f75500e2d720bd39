#include "http/client_pool.hpp"

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/tcp.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>

namespace fairlead::http {
namespace {

using connected = std::expected<std::unique_ptr<transport>, std::error_code>;

task<connected> connect_by_tcp(const origin& to, time_point deadline) {
    if (to.scheme != "http") {
        co_return std::unexpected{std::make_error_code(std::errc::protocol_not_supported)};
    }
    const auto where = to.host == "localhost" ? io::address::loopback(to.port)
                                              : io::address::parse(to.host, to.port);
    if (!where) co_return std::unexpected{where.error()};
    auto stream = co_await io::tcp_stream::connect(*where, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    co_return make_transport(std::move(*stream));
}

task<connected> connect_by_name(const io::name_connector& connects, const origin& to,
                                time_point deadline) {
    if (to.scheme != "http") {
        co_return std::unexpected{std::make_error_code(std::errc::protocol_not_supported)};
    }
    auto stream = co_await connects(to.host, to.port, deadline);
    if (!stream) co_return std::unexpected{stream.error()};
    co_return make_transport(std::move(*stream));
}

// Whether the server has sent nothing since the last response, and not closed: what it has sent
// would be taken for the next response.
task<bool> is_quiet(transport& stream) {
    std::byte unasked{};
    const auto size = co_await stream.read_some(std::span{&unasked, 1}, immediately);
    co_return !size && size.error() == std::errc::timed_out;
}

}  // namespace

connector tcp_connector() { return connect_by_tcp; }

connector tcp_connector(io::name_connector connects) {
    return [by = std::move(connects)](const origin& to, time_point deadline) {
        return connect_by_name(by, to, deadline);
    };
}

namespace detail {

client_pool::lease::lease(lease&& other) noexcept
    : pool_{std::move(other.pool_)},
      site_{std::exchange(other.site_, nullptr)},
      place_{std::move(other.place_)},
      stream_{std::move(other.stream_)},
      reused_{other.reused_} {}

client_pool::lease& client_pool::lease::operator=(lease&& other) noexcept {
    if (this == &other) return *this;
    end();
    pool_ = std::move(other.pool_);
    site_ = std::exchange(other.site_, nullptr);
    place_ = std::move(other.place_);
    stream_ = std::move(other.stream_);
    reused_ = other.reused_;
    return *this;
}

void client_pool::lease::end() noexcept {
    if (site_ == nullptr) return;
    stream_.reset();
    place_.release();
    pool_->leave(*std::exchange(site_, nullptr));
    pool_.reset();
}

void client_pool::lease::give_back() noexcept {
    try {
        const std::lock_guard lock{pool_->mutex_};
        site_->idle.push_back({std::move(stream_), clock::now()});
        ++pool_->stats_.idle;
    } catch (const std::bad_alloc&) {
        // The connection is closed.
    }
    end();
}

client_pool::site& client_pool::enter(const origin& to) {
    const std::lock_guard lock{mutex_};
    site& found = sites_.try_emplace(to, options.connections_max).first->second;
    ++found.users;
    return found;
}

// A site without users and connections is forgotten.
void client_pool::leave(site& of) noexcept {
    const std::lock_guard lock{mutex_};
    if (--of.users != 0 || !of.idle.empty()) return;
    std::erase_if(sites_, [&of](const auto& each) { return &each.second == &of; });
}

// The newest connection, unless it is too old; closes all that are too old.
std::unique_ptr<transport> client_pool::take_idle(site& of) {
    const time_point oldest = clock::now() - options.idle_timeout;
    std::vector<kept> closed;
    const std::lock_guard lock{mutex_};
    const auto first_young =
        std::ranges::find_if(of.idle, [oldest](const kept& each) { return each.since > oldest; });
    closed.assign(std::move_iterator{of.idle.begin()}, std::move_iterator{first_young});
    of.idle.erase(of.idle.begin(), first_young);
    stats_.idle -= closed.size();
    if (of.idle.empty()) return nullptr;
    std::unique_ptr<transport> newest = std::move(of.idle.back().stream);
    of.idle.pop_back();
    --stats_.idle;
    return newest;
}

task<std::expected<client_pool::lease, std::error_code>> client_pool::take(origin to,
                                                                           time_point deadline) {
    lease made;
    made.pool_ = shared_from_this();
    made.site_ = &enter(to);
    auto place = co_await made.site_->places.acquire(1, deadline);
    if (!place) co_return std::unexpected{io::detail::code_of(place.error())};
    made.place_ = std::move(*place);
    bool found = false;
    while (!found && (made.stream_ = take_idle(*made.site_)) != nullptr) {
        found = co_await is_quiet(*made.stream_);
    }
    made.reused_ = made.stream_ != nullptr;
    if (!made.reused_) {
        const std::error_code failure = co_await renew(made, to, deadline);
        if (failure) co_return std::unexpected{failure};
    }
    co_return made;
}

task<std::error_code> client_pool::renew(lease& of, const origin& to, time_point deadline) {
    of.stream_.reset();
    of.reused_ = false;
    auto stream = co_await connects_(to, deadline);
    if (!stream) co_return stream.error();
    of.stream_ = std::move(*stream);
    const std::lock_guard lock{mutex_};
    ++stats_.connections;
    co_return std::error_code{};
}

void client_pool::close_idle() noexcept {
    std::vector<kept> closed;
    for (bool more = true; more;) {
        closed.clear();
        const std::lock_guard lock{mutex_};
        const auto found = std::ranges::find_if(
            sites_, [](const auto& each) { return !each.second.idle.empty(); });
        more = found != sites_.end();
        if (!more) break;
        closed.swap(found->second.idle);
        stats_.idle -= closed.size();
        if (found->second.users == 0) sites_.erase(found);
    }
}

void client_pool::count_request() noexcept {
    const std::lock_guard lock{mutex_};
    ++stats_.requests;
}

void client_pool::count_retry() noexcept {
    const std::lock_guard lock{mutex_};
    ++stats_.retries;
}

client_stats client_pool::stats() const noexcept {
    const std::lock_guard lock{mutex_};
    return stats_;
}

}  // namespace detail
}  // namespace fairlead::http
