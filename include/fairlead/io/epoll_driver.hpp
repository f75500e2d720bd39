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

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/io/network.hpp>
#include <fairlead/os/unique_fd.hpp>
#include <fairlead/sched/driver.hpp>

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <system_error>

namespace fairlead::io {

class epoll_driver;
class watch;

namespace detail {
class file_ring;
class ready_operation;
class ring_transfer;
}  // namespace detail

/// How an `epoll_driver` reads and writes files that are not in memory.
struct epoll_driver_options {
    /// By io_uring if the kernel gives it. False, or if it is refused: by threads, as `blocking`.
    bool file_ring = true;
    /// How many operations the kernel has at once, 1 to 4096; further ones wait for their turn. A
    /// larger number takes 150 bytes of memory each, and is of use to disks that do more at once.
    unsigned file_operations_max = 256;
};

/// What the io_uring of a driver has done, for reports.
struct file_ring_stats {
    bool is_open = false;     ///< there is one; it is made when a file first needs it
    std::error_code refused;  ///< why there will be none: the error of the system, if it was tried
    std::uint64_t operations = 0;          ///< given to the kernel
    std::uint64_t refused_operations = 0;  ///< that the kernel did not take; threads did them
    std::uint64_t cancels = 0;             ///< operations that the kernel was asked to cancel
};

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

/// A descriptor that is registered with a driver; if it is a socket, its network::socket. Its
/// memory stays a registration for as long as the driver lives, because a collected event may still
/// refer to it. At worst such an event gives the next descriptor an edge that is not its own, and
/// one attempt fails.
class registration final : public network::socket {
public:
    /// One of `of`, without a descriptor.
    explicit registration(epoll_driver& of) noexcept;

    [[nodiscard]] std::ptrdiff_t receive(std::span<std::byte> into) noexcept override;
    [[nodiscard]] std::ptrdiff_t receive_into(
        std::span<const std::span<std::byte>> parts) noexcept override;
    [[nodiscard]] std::ptrdiff_t send(std::span<const std::byte> data) noexcept override;
    [[nodiscard]] std::ptrdiff_t send_from(std::span<const std::span<const std::byte>> parts,
                                           std::size_t skipped) noexcept override;
    [[nodiscard]] int accept(socket*& made, const stream_options& options) noexcept override;
    [[nodiscard]] int connected() noexcept override;
    [[nodiscard]] int shutdown_send() noexcept override;
    [[nodiscard]] int shutdown_receive() noexcept override;
    void close() noexcept override;
    void reset() noexcept override;
    [[nodiscard]] int native_handle() const noexcept override { return fd_.get(); }
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept override;
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept override;

private:
    friend class epoll_driver;
    friend class descriptor;
    friend class watch;
    friend class detail::ready_operation;

    edge_source readable_;
    edge_source writable_;
    epoll_driver& driver_;
    os::unique_fd fd_;      // of a socket of the network alone
    bool is_unix_ = false;  // a Unix socket: descriptors may come with the data
    // Events that `readable_` is told of; all of them for a `watch`, which has one wait for both
    // directions. Relaxed: written before the descriptor is registered, read with its events. An
    // event of an earlier descriptor may go by the new value, which costs an attempt, too.
    sync::atomic<std::uint32_t> told_to_reader_{0};
    registration* next_free_ = nullptr;
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
    [[nodiscard]] wait_source& readable() const noexcept { return registration_->readable_; }
    [[nodiscard]] wait_source& writable() const noexcept { return registration_->writable_; }
    /// Whether a short read, with fewer bytes than asked for, has emptied the socket.
    [[nodiscard]] bool short_read_is_last() const noexcept {
        return registration_->short_read_is_last();
    }

private:
    epoll_driver* driver_ = nullptr;
    registration* registration_ = nullptr;
    os::unique_fd fd_;
};

/// The driver of a scheduler with sockets: idle workers sleep in epoll. Uses three descriptors, and
/// one more from the first read or write of a file that would wait. After its construction it
/// allocates one registration for each open descriptor, and nothing else.
///
/// A child of fork shares the epoll set of its parent. It may destroy streams, listeners and
/// watches for which no task waits: that closes its copies of the descriptors, and those of the
/// parent go on. It must not wait with them: the events and the timer are those of the parent.
class epoll_driver final : public driver, public network {
public:
    /// Throws `std::system_error` if the system gives no descriptors for it,
    /// `std::invalid_argument` for a wrong option, and `std::bad_alloc`.
    explicit epoll_driver(const epoll_driver_options& options = {});
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

    [[nodiscard]] std::expected<socket*, std::error_code> listen(
        const address& where, const listener_options& options) override;
    [[nodiscard]] std::expected<begun_connect, std::error_code> connect(
        const address& peer, const stream_options& options) override;
    /// Takes over a connected socket of the system. Errors: as `tcp_stream::adopt`.
    [[nodiscard]] std::expected<socket*, std::error_code> adopt(os::unique_fd connected,
                                                                const stream_options& options);
    /// Takes over a socket of the system as it is, of the address family `family`. It may be a
    /// blocking one. Errors: as `descriptor::make`. Any thread.
    [[nodiscard]] std::expected<socket*, std::error_code> add(os::unique_fd owned,
                                                              int family) noexcept;

    /// What its io_uring has done. Any thread; takes a lock for some instructions.
    [[nodiscard]] file_ring_stats file_ring() const noexcept;

    /// The driver of `home`, which must be an `epoll_driver`.
    [[nodiscard]] static epoll_driver& of(const scheduler& home);

private:
    friend class registration;
    friend class descriptor;
    friend class watch;
    friend class detail::ready_operation;
    friend class detail::ring_transfer;

    static constexpr int events_max = 256;
    using event_batch = std::array<epoll_event, events_max>;

    enum class telling : std::uint8_t {
        of_edges,   ///< from now on
        when_asked  ///< once for each `tell_once`
    };
    [[nodiscard]] std::expected<registration*, std::error_code> add(int fd, telling how) noexcept;
    [[nodiscard]] int tell_once(int fd, registration& entry, std::uint32_t events) noexcept;
    void remove(int fd, registration& entry) noexcept;
    void give_back(registration& entry) noexcept;
    void dispatch(std::span<const epoll_event> events, event_sink& sink) noexcept;
    [[nodiscard]] detail::file_ring& files() const noexcept { return *files_; }
    [[nodiscard]] void* mark_of_files() noexcept { return &registered_; }

    os::unique_fd epoll_;
    os::unique_fd wakeup_;
    os::unique_fd timer_;
    unsigned fork_depth_ = 0;      // of the process that has made it
    time_point deadline_ = never;  // what the timer is set to; the holder of the role
    sync::atomic<std::size_t> registered_{0};

    // Events that ended a wait. The waiting thread fills the array while the count is 0; the holder
    // of the role empties it while the count is not 0.
    event_batch collected_;
    sync::atomic<int> collected_count_{0};

    sync::mutex free_mutex_;
    registration* free_ = nullptr;  // guarded by free_mutex_

    const std::unique_ptr<detail::file_ring> files_;
};

}  // namespace fairlead::io
