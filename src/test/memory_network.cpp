#include <fairlead/test/memory_network.hpp>

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/io/unix_address.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::test {

using io::address;
using io::unix_address;

namespace {

// An interface is as good as another.
bool is_same_place(const address& a, const address& b) noexcept {
    if (a.is_unix() || b.is_unix()) {
        return a.is_unix() == b.is_unix() && unix_address{a} == unix_address{b};
    }
    return a.port() == b.port() && a.is_v6() == b.is_v6();
}

}  // namespace

// --- sockets -------------------------------------------------------------------------------------

// What a task waits for. It looks at its socket when it is armed, so no event is missed.
class memory_network::source final : public wait_source {
public:
    source(const end& of, bool reads) noexcept : of_{of}, reads_{reads} {}

    [[nodiscard]] bool arm(basic_task& task) noexcept override;
    void disarm(basic_task&) noexcept override { waiting_ = nullptr; }
    void fire(event_sink& sink) noexcept {
        is_queued_ = false;
        if (waiting_ != nullptr) sink.fire(*waiting_);
    }
    // Whether the network must queue it.
    [[nodiscard]] bool begin_fire() noexcept {
        return waiting_ != nullptr && !std::exchange(is_queued_, true);
    }
    [[nodiscard]] bool has_waiter() const noexcept { return waiting_ != nullptr; }

private:
    const end& of_;
    const bool reads_;
    bool is_queued_ = false;
    basic_task* waiting_ = nullptr;
};

// One end of a connection, or a listener. Linux is the model: what has arrived is read before a
// reset is seen; the reset is told once, then there is the end, and a write is a broken pipe.
class memory_network::end final : public io::network::socket {
public:
    end(memory_network& of, const address& local) noexcept
        : socket{&of, reads_, writes_}, of_{of}, local_{local} {
        set_short_reads(true);  // a short read may leave data behind
    }

    [[nodiscard]] std::ptrdiff_t receive(std::span<std::byte> into) noexcept override {
        const std::span<std::byte> one[]{into};
        return receive_into(one);
    }
    [[nodiscard]] std::ptrdiff_t receive_into(
        std::span<const std::span<std::byte>> parts) noexcept override;
    [[nodiscard]] std::ptrdiff_t send(std::span<const std::byte> data) noexcept override {
        const std::span<const std::byte> one[]{data};
        return send_from(one, 0);
    }
    [[nodiscard]] std::ptrdiff_t send_from(std::span<const std::span<const std::byte>> parts,
                                           std::size_t skipped) noexcept override;
    [[nodiscard]] int accept(socket*& made, const io::stream_options& options) noexcept override;
    [[nodiscard]] int connected() noexcept override {
        if (state_ == state::connecting) return -EAGAIN;
        return state_ == state::connected ? 0 : -std::exchange(error_, ECONNREFUSED);
    }
    [[nodiscard]] int shutdown_send() noexcept override;
    [[nodiscard]] int shutdown_receive() noexcept override;
    void close() noexcept override { close_by(arrived_.empty() ? ending::end : ending::reset); }
    // A Unix socket has no reset of its own.
    void reset() noexcept override {
        if (local_.is_unix()) return close();
        close_by(ending::reset);
    }
    [[nodiscard]] int native_handle() const noexcept override { return -1; }
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept override {
        return local_;
    }
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept override {
        if (state_ == state::connected) return remote_;
        return std::unexpected{std::error_code{ENOTCONN, std::system_category()}};
    }

    [[nodiscard]] bool can_read() const noexcept {
        return !arrived_.empty() || has_ended_ || error_ != 0 || !is_open_ || !backlog_.empty();
    }
    [[nodiscard]] bool can_write() const noexcept {
        if (state_ == state::connecting) return !is_open_;
        return has_shut_ || error_ != 0 || !is_open_ || is_reset_ || room() != 0;
    }
    [[nodiscard]] bool listens() const noexcept { return is_open_ && state_ == state::listening; }

private:
    friend class memory_network;
    enum class ending : std::uint8_t { end, reset };
    enum class state : std::uint8_t { listening, connecting, connected, failed };

    // How much may be sent: what the peer has not read stands in the way.
    [[nodiscard]] std::size_t room() const noexcept {
        const std::size_t held = peer_->arrived_.size() + peer_->on_its_way_;
        return of_.options_.buffer - std::min(of_.options_.buffer, held);
    }
    void transmit(std::function<void()> arrival) {
        last_arrival_ = std::max(last_arrival_, of_.clock_.now() + of_.latency());
        of_.at(last_arrival_, std::move(arrival));
    }
    void deliver(std::string_view data);
    void deliver_end();
    void take_reset() noexcept;
    void reset_both() noexcept;
    void close_by(ending how) noexcept;

    memory_network& of_;
    source reads_{*this, true};
    source writes_{*this, false};
    address local_;
    address remote_;
    end* peer_ = nullptr;
    std::string arrived_;
    std::deque<end*> backlog_;  // of a listener
    std::size_t backlog_max_ = 0;
    std::size_t on_its_way_ = 0;  // bytes that were sent to it
    std::uint64_t sent_ = 0;
    time_point last_arrival_ = immediately;  // of what it has sent
    int error_ = 0;
    state state_ = state::connecting;
    bool is_open_ = true;
    bool has_ended_ = false;  // the peer's end has arrived, or receiving was shut down
    bool has_shut_ = false;   // it sends no more
    bool is_reset_ = false;
};

bool memory_network::source::arm(basic_task& task) noexcept {
    FAIRLEAD_ASSERT(waiting_ == nullptr, "two tasks wait for the same direction of a connection");
    if (reads_ ? of_.can_read() : of_.can_write()) return false;
    waiting_ = &task;
    return true;
}

std::ptrdiff_t memory_network::end::receive_into(
    std::span<const std::span<std::byte>> parts) noexcept {
    if (!is_open_) return -EBADF;
    if (state_ != state::connected) return -ENOTCONN;
    if (arrived_.empty()) {
        if (error_ != 0) return -std::exchange(error_, 0);
        return has_ended_ ? 0 : -EAGAIN;
    }
    std::size_t room = 0;
    for (const std::span<std::byte> each : parts) room += each.size();
    const std::size_t size = of_.some_of(std::min(room, arrived_.size()));
    std::size_t taken = 0;
    for (const std::span<std::byte> each : parts) {
        const std::size_t count = std::min(each.size(), size - taken);
        std::copy_n(reinterpret_cast<const std::byte*>(arrived_.data()) + taken, count,
                    each.begin());
        taken += count;
    }
    arrived_.erase(0, size);
    of_.notify(peer_->writes_);
    return static_cast<std::ptrdiff_t>(size);
}

std::ptrdiff_t memory_network::end::send_from(std::span<const std::span<const std::byte>> parts,
                                              std::size_t skipped) noexcept {
    if (!is_open_) return -EBADF;
    if (error_ != 0) return -std::exchange(error_, 0);
    if (has_shut_ || is_reset_) return -EPIPE;
    if (state_ != state::connected) return -ENOTCONN;
    if (room() == 0) return -EAGAIN;
    std::size_t offered = 0;
    for (const std::span<const std::byte> each : parts) offered += each.size();
    const std::size_t taken = of_.some_of(std::min(room(), offered - skipped));
    std::string data;  // no more than that: a long buffer may be offered again and again
    for (std::span<const std::byte> each : parts) {
        each = each.subspan(std::exchange(skipped, 0));
        data.append(reinterpret_cast<const char*>(each.data()),
                    std::min(each.size(), taken - data.size()));
    }
    const std::uint64_t limit = of_.options_.reset_after;
    const bool is_last = limit != 0 && sent_ + data.size() >= limit;
    if (is_last) data.resize(static_cast<std::size_t>(limit - std::min(limit, sent_)));
    sent_ += data.size();
    const std::size_t size = data.size();
    peer_->on_its_way_ += size;
    transmit([to = peer_, text = std::move(data)] { to->deliver(text); });
    if (is_last) transmit([this] { reset_both(); });
    return size != 0 ? static_cast<std::ptrdiff_t>(size) : -ECONNRESET;
}

void memory_network::end::deliver(std::string_view data) {
    on_its_way_ -= data.size();
    if (is_reset_) return;
    if (!is_open_) return peer_->take_reset();          // no task will read it
    if (has_ended_) return of_.notify(peer_->writes_);  // receiving was shut down
    arrived_ += data;
    of_.notify(reads_);
}

void memory_network::end::deliver_end() {
    has_ended_ = true;
    of_.notify(reads_);
}

void memory_network::end::take_reset() noexcept {
    if (std::exchange(is_reset_, true) || !is_open_) return;
    // Behind the end of the peer a read gives that end, and a write is a broken pipe.
    if (!has_ended_ || !peer_->has_shut_) error_ = ECONNRESET;
    has_ended_ = true;
    of_.notify(reads_);
    of_.notify(writes_);
}

void memory_network::end::reset_both() noexcept {
    take_reset();
    peer_->take_reset();
}

int memory_network::end::accept(socket*& made, const io::stream_options&) noexcept {
    if (!is_open_) return -EBADF;
    if (backlog_.empty()) return -EAGAIN;
    if (of_.starved_accepts_ != 0) {
        --of_.starved_accepts_;
        return -EMFILE;
    }
    made = backlog_.front();
    backlog_.pop_front();
    return 0;
}

int memory_network::end::shutdown_send() noexcept {
    if (!is_open_) return -EBADF;
    if (state_ != state::connected || is_reset_) return -ENOTCONN;
    if (!std::exchange(has_shut_, true)) transmit([to = peer_] { to->deliver_end(); });
    return 0;
}

int memory_network::end::shutdown_receive() noexcept {
    if (!is_open_) return -EBADF;
    if (state_ != state::connected || is_reset_) return -ENOTCONN;
    deliver_end();
    return 0;
}

// Data that were not read, and a connection that was not accepted, are lost: the peer learns of it
// by a reset.
void memory_network::end::close_by(ending how) noexcept {
    FAIRLEAD_ASSERT(!reads_.has_waiter() && !writes_.has_waiter(),
                    "a stream or a listener was closed while a task waits for it: stop that task, "
                    "or call shutdown_receive");
    is_open_ = false;
    --of_.open_;
    for (end* const each : std::exchange(backlog_, {})) each->close_by(ending::reset);
    if (peer_ == nullptr) return;
    if (how == ending::reset) {
        transmit([to = peer_] { to->take_reset(); });
    } else if (!std::exchange(has_shut_, true) && !is_reset_) {
        transmit([to = peer_] { to->deliver_end(); });
    }
    arrived_ = {};
    of_.notify(peer_->writes_);
}

// --- the network ---------------------------------------------------------------------------------

memory_network::memory_network(manual_clock& moved, memory_network_options options)
    : jumping_driver{moved}, clock_{moved}, options_{options}, random_{options.seed} {}

memory_network::~memory_network() {
    FAIRLEAD_ASSERT(open_ == 0, "a socket outlived the scheduler whose driver it belongs to");
}

memory_network& memory_network::of(const scheduler& home) {
    auto* const own = dynamic_cast<memory_network*>(&home.driver());
    FAIRLEAD_ASSERT(own != nullptr, "the driver of this scheduler is no memory_network");
    return *own;
}

void memory_network::at(time_point when, std::function<void()> what) {
    events_.emplace(when, std::move(what));
}

duration memory_network::latency() {
    const auto range = static_cast<std::uint64_t>(
        std::max(options_.latency_max - options_.latency_min, duration{}).count());
    if (range == 0) return options_.latency_min;
    return options_.latency_min + duration{static_cast<duration::rep>(random_() % (range + 1))};
}

std::size_t memory_network::some_of(std::size_t most) {
    if (!options_.short_moves || most == 0) return most;
    return 1 + static_cast<std::size_t>(random_() % most);
}

memory_network::end& memory_network::make_end(const address& local) {
    ends_.push_back(std::make_unique<end>(*this, local));
    ++open_;
    return *ends_.back();
}

memory_network::end* memory_network::listener_at(const address& where) const noexcept {
    for (const auto& each : ends_) {
        if (each->listens() && is_same_place(each->local_, where)) return each.get();
    }
    return nullptr;
}

std::uint16_t memory_network::free_port() noexcept {
    do {
        last_port_ = last_port_ == std::numeric_limits<std::uint16_t>::max()
                         ? std::uint16_t{32768}
                         : static_cast<std::uint16_t>(last_port_ + 1);
    } while (listener_at(address::loopback(last_port_)) != nullptr);
    return last_port_;
}

address memory_network::free_address(const address& of_kind) {
    const std::uint16_t port = free_port();
    if (of_kind.is_unix()) return unix_address::abstract(std::to_string(port))->as_address();
    return *address::parse(of_kind.is_v6() ? "::1" : "127.0.0.1", port);
}

std::expected<io::network::socket*, std::error_code> memory_network::listen(
    const address& where, const io::listener_options& options) {
    const bool is_chosen =
        where.is_unix() ? unix_address{where} == unix_address{} : where.port() == 0;
    if (!is_chosen && listener_at(where) != nullptr) {
        return std::unexpected{std::make_error_code(std::errc::address_in_use)};
    }
    end& made = make_end(is_chosen ? free_address(where) : where);
    made.state_ = end::state::listening;
    made.backlog_max_ = static_cast<std::size_t>(std::max(options.backlog, 0)) + 1;
    return &made;
}

std::expected<io::network::begun_connect, std::error_code> memory_network::connect(
    const address& peer, const io::stream_options&) {
    end& client = make_end(peer.is_unix() ? unix_address{}.as_address() : free_address(peer));
    client.remote_ = peer;
    at(clock_.now() + latency(), [this, to = &client] { arrive(*to, std::chrono::seconds{1}); });
    return begun_connect{&client, true};
}

void memory_network::set_unreachable(const address& peer, bool unreachable) {
    std::erase(unreachable_, peer);
    if (unreachable) unreachable_.push_back(peer);
}

bool memory_network::is_unreachable(const address& peer) const noexcept {
    return is_unreachable_ || std::ranges::find(unreachable_, peer) != unreachable_.end();
}

// The first message of `client` arrives. Without an answer it is sent again after `patience`.
void memory_network::arrive(end& client, duration patience) {
    if (!client.is_open_) return;
    end* const listener = listener_at(client.remote_);
    if (is_unreachable(client.remote_) ||
        (listener != nullptr && listener->backlog_.size() >= listener->backlog_max_)) {
        at(clock_.now() + patience, [this, to = &client, patience] { arrive(*to, 2 * patience); });
        return;
    }
    const duration way_back = latency();
    if (listener == nullptr) {
        at(clock_.now() + way_back, [this, to = &client] { answer(*to, ECONNREFUSED); });
        return;
    }
    end& server = make_end(listener->local_);
    server.state_ = end::state::connected;
    server.remote_ = client.local_;
    server.peer_ = &client;
    client.peer_ = &server;
    listener->backlog_.push_back(&server);
    notify(listener->reads_);
    server.last_arrival_ = clock_.now() + way_back;
    at(server.last_arrival_, [this, to = &client] { answer(*to, 0); });
}

void memory_network::answer(end& client, int error) {
    if (!client.is_open_) return;
    client.error_ = error;
    client.state_ = error == 0 ? end::state::connected : end::state::failed;
    notify(client.writes_);
}

void memory_network::notify(source& ready) {
    if (ready.begin_fire()) ready_.push_back(&ready);
}

void memory_network::reset_all() noexcept {
    for (const auto& each : ends_) {
        if (each->peer_ != nullptr) each->take_reset();
    }
}

void memory_network::wait() noexcept {
    if (!ready_.empty()) return;
    const time_point next = events_.empty() ? never : events_.begin()->first;
    if (next >= deadline()) return jumping_driver::wait();
    if (!was_woken() && next > clock_.now()) clock_.set(next);
}

void memory_network::poll(event_sink& sink) noexcept {
    while (!events_.empty() && events_.begin()->first <= clock_.now()) {
        const auto due = events_.extract(events_.begin());
        due.mapped()();
    }
    for (source* const each : std::exchange(ready_, {})) each->fire(sink);
}

}  // namespace fairlead::test
