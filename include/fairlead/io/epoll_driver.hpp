// The driver of a scheduler with IO: it sleeps in epoll.
//
//     fl::scheduler scheduler{{.workers = 4, .driver = std::make_unique<fl::io::epoll_driver>()}};
//
// A descriptor is registered once, edge triggered, for both directions. All that events touch
// (which task waits, which edge has come) belongs to the holder of the role, so completion and
// cancellation of a wait cannot race: both happen in the role, one after the other.
//
//     a task reads -> EAGAIN -> posts itself with the source -> the role arms it and parks the task
//     an edge comes -> the role fires the task, or, if none waits, remembers the edge for the next
#pragma once

#include <fairlead/os/unique_fd.hpp>
#include <fairlead/sched/driver.hpp>
#include <fairlead/sync/atomic.hpp>
#include <fairlead/sync/mutex.hpp>

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <expected>
#include <span>
#include <system_error>

namespace fairlead::io {

class epoll_driver;

/// One direction of a descriptor, as something to wait for. The role's, but for `open` and `close`.
class edge_source final : public wait_source {
public:
    [[nodiscard]] bool arm(basic_task& task) noexcept override;
    void disarm(basic_task& task) noexcept override;

    /// An edge has come. `last`: it may be the last edge, so no wait may rely on another.
    void notify(event_sink& sink, bool last) noexcept;

    /// Its descriptor is registered, or about to be closed. A task that would wait afterwards goes
    /// on instead, and its attempt fails; a task that waits already is an error of the program.
    /// Any thread.
    void open() noexcept;
    void close() noexcept;

private:
    // Relaxed, both: a task that may close the descriptor goes on after the last wait, and so sees
    // what the role did. A close without that knowledge is caught by chance.
    sync::atomic<basic_task*> waiting_{nullptr};
    sync::atomic<bool> closed_{false};
    // Each is good for one attempt. That of `came_` may only take the data that came with an end.
    bool came_ = false;  // an edge came while no task waited
    bool last_ = false;  // it may have been the last
};

/// A descriptor that is registered with a driver. Its memory stays a registration for as long as
/// the driver lives, because a collected event may still refer to it. At worst such an event gives
/// the next descriptor an edge that is not its own, and one attempt fails.
struct registration {
    edge_source readable;
    edge_source writable;
    // Urgent data came: a read ends before them, and no edge may come for the data behind them.
    // The role writes it before it fires the edge; the task that was fired reads it.
    sync::atomic<bool> urgent{false};
    registration* next_free = nullptr;
};

/// Owns a registered descriptor. One thread at a time, but one task may read while another writes.
class descriptor {
public:
    descriptor() = default;
    descriptor(descriptor&& other) noexcept;
    descriptor& operator=(descriptor&& other) noexcept;
    ~descriptor() { close(); }

    /// Registers `fd`, which must be non-blocking, with the driver, and owns it. Errors: those of
    /// epoll_ctl, and `not_enough_memory`. Allocates one object. Any thread.
    [[nodiscard]] static std::expected<descriptor, std::error_code> make(epoll_driver& driver,
                                                                         os::unique_fd fd);

    /// Closes it. No task may wait for it: that is asserted.
    void close() noexcept;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
    [[nodiscard]] epoll_driver& driver() const noexcept { return *driver_; }
    [[nodiscard]] wait_source& readable() const noexcept { return registration_->readable; }
    [[nodiscard]] wait_source& writable() const noexcept { return registration_->writable; }
    /// Whether a short read, with fewer bytes than asked for, has emptied the socket.
    [[nodiscard]] bool short_read_is_last() const noexcept {
        // Relaxed: it comes with the edge. A read before the edge finds it at the next attempt.
        return !registration_->urgent.load(sync::relaxed);
    }

private:
    epoll_driver* driver_ = nullptr;
    registration* registration_ = nullptr;
    os::unique_fd fd_;
};

/// The driver of a scheduler with sockets: idle workers sleep in epoll. Uses three descriptors.
/// After its construction it allocates one registration for each open descriptor, and nothing else.
class epoll_driver final : public driver {
public:
    /// Throws `std::system_error` if the system gives no descriptors for it.
    epoll_driver();
    epoll_driver(const epoll_driver&) = delete;
    epoll_driver& operator=(const epoll_driver&) = delete;
    ~epoll_driver() override;

    [[nodiscard]] bool set_deadline(time_point deadline) noexcept override;
    void wait() noexcept override;
    void poll(event_sink& sink) noexcept override;
    void wake() noexcept override;
    [[nodiscard]] bool has_sources() const noexcept override {
        return registered_.load(sync::relaxed) != 0;  // a hint; a registration precedes its waits
    }

    [[nodiscard]] int descriptor() const noexcept override { return epoll_.get(); }

    /// The driver of `home`, which must be an `epoll_driver`.
    [[nodiscard]] static epoll_driver& of(const scheduler& home);

private:
    friend class descriptor;

    static constexpr int events_max = 256;
    using event_batch = std::array<epoll_event, events_max>;

    [[nodiscard]] std::expected<registration*, std::error_code> add(int fd) noexcept;
    void remove(int fd, registration& entry) noexcept;
    void give_back(registration& entry) noexcept;
    void dispatch(std::span<const epoll_event> events, event_sink& sink) noexcept;

    os::unique_fd epoll_;
    os::unique_fd wakeup_;
    os::unique_fd timer_;
    time_point deadline_ = never;  // what the timer is set to; the holder of the role
    sync::atomic<std::size_t> registered_{0};

    // Events that ended a wait. The waiting thread fills the array while the count is 0; the holder
    // of the role empties it while the count is not 0.
    event_batch collected_;
    sync::atomic<int> collected_count_{0};

    sync::mutex free_mutex_;
    registration* free_ = nullptr;  // guarded by free_mutex_
};

}  // namespace fairlead::io
