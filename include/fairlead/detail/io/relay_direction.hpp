// One direction of a relay, for any streams; what both directions share.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

namespace fairlead::io::detail {

inline constexpr std::size_t relay_buffer = 16 * 1024;

// A direction has failed, and the other one must be asked to stop.
struct relay_stopped {};

class relay_run;

// The task of the direction writes it, alone.
struct relay_direction {
    explicit relay_direction(relay_run& whole) noexcept : of{whole} {}

    // `count` bytes were written.
    void has_moved(std::size_t count) noexcept;
    // Until when to wait.
    [[nodiscard]] time_point limit() const noexcept;
    // Whether a wait that has ended with `error` is to be made again: bytes have moved the other
    // way meanwhile.
    [[nodiscard]] bool goes_on_after(const std::error_code& error) const noexcept;

    relay_run& of;
    std::uint64_t moved = 0;
    std::error_code failure;
};

class relay_run {
public:
    relay_run(const scheduler& home, time_point deadline, duration idle) noexcept
        : forth{*this},
          back{*this},
          home_{home},
          deadline_{deadline},
          idle_{idle},
          last_move_{home.now().time_since_epoch().count()} {}
    relay_run(const relay_run&) = delete;
    relay_run& operator=(const relay_run&) = delete;

    // Says that `direction` has failed, unless the other one has before.
    void fail(relay_direction& direction, std::error_code error) noexcept {
        direction.failure = error;
        relay_direction* none = nullptr;
        // Relaxed: read when both tasks have ended.
        first_failed_.compare_exchange_strong(none, &direction, sync::relaxed, sync::relaxed);
    }
    // When both have ended: the error of the direction that has failed first.
    [[nodiscard]] std::error_code failure() const noexcept {
        const relay_direction* const failed = first_failed_.load(sync::relaxed);
        return failed != nullptr ? failed->failure : std::error_code{};
    }
    [[nodiscard]] time_point limit() const noexcept {
        const time_point last{duration{last_move_.load(sync::relaxed)}};
        return std::min(deadline_, after(last, idle_));
    }

    relay_direction forth;
    relay_direction back;

private:
    friend struct relay_direction;

    const scheduler& home_;
    const time_point deadline_;
    const duration idle_;
    // Relaxed: an old value makes a wait end, and then look once more.
    sync::atomic<std::int64_t> last_move_;  // a time_point
    sync::atomic<relay_direction*> first_failed_{nullptr};
};

inline void relay_direction::has_moved(std::size_t count) noexcept {
    moved += count;
    if (of.idle_ != duration::max()) {
        of.last_move_.store(of.home_.now().time_since_epoch().count(), sync::relaxed);
    }
}
inline time_point relay_direction::limit() const noexcept { return of.limit(); }
inline bool relay_direction::goes_on_after(const std::error_code& error) const noexcept {
    return error == std::errc::timed_out && of.home_.now() < of.limit();
}

// Ends the direction with an error. What has come from `to` already is still moved by the other
// direction, which then meets the end of it.
template <class To>
void end_by(relay_direction& direction, To& to, std::error_code error) {
    direction.of.fail(direction, error);
    if constexpr (requires { to.shutdown_receive(); }) {
        static_cast<void>(to.shutdown_receive());
    } else {
        throw relay_stopped{};
    }
}

// Passes the end of the source on.
template <class To>
task<std::error_code> pass_end_to(To& to, time_point limit) {
    if constexpr (requires { to.send_end(limit); }) {
        const auto told = co_await to.send_end(limit);
        co_return told ? std::error_code{} : told.error();
    } else if constexpr (requires { to.shutdown_send(); }) {
        const auto told = to.shutdown_send();
        // It was reset: the other direction says so, if it has not ended before.
        const bool is_gone = !told && told.error() == std::errc::not_connected;
        co_return told || is_gone ? std::error_code{} : told.error();
    } else {
        co_return std::error_code{};
    }
}

// Writes all of `data`, and counts what was written.
template <class To>
task<std::error_code> write_counted(To& to, std::span<const std::byte> data,
                                    relay_direction& counts) {
    while (!data.empty()) {
        if constexpr (requires { to.write_some(data, never); }) {
            const auto size = co_await to.write_some(data, counts.limit());
            if (size) {
                counts.has_moved(*size);
                data = data.subspan(*size);
            } else if (!counts.goes_on_after(size.error())) {
                co_return size.error();
            }
        } else {
            const auto all = co_await to.write_all(data, counts.limit());
            if (!all) co_return all.error();
            counts.has_moved(data.size());
            data = {};
        }
    }
    co_return std::error_code{};
}

template <class From, class To>
task<> copy_one_way(From& from, To& to, relay_direction& direction) {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(relay_buffer);
    std::error_code failed;
    while (!failed) {
        const auto size = co_await from.read_some({buffer.get(), relay_buffer}, direction.limit());
        if (!size) {
            if (!direction.goes_on_after(size.error())) failed = size.error();
        } else if (*size == 0) {
            failed = co_await pass_end_to(to, direction.limit());
            if (!failed) co_return;
        } else {
            failed = co_await write_counted(to, {buffer.get(), *size}, direction);
        }
    }
    end_by(direction, to, failed);
}

// Until both have ended. The failures are in `run`.
task<> run_both(task<> forth, task<> back, relay_run& run);

}  // namespace fairlead::io::detail
