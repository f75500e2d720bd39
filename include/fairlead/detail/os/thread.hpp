// Threads with a name. A failure to start is a value.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::os {

/// A thread of the system. It must be joined or detached before it is destroyed.
class thread {
public:
    thread() = default;
    explicit thread(std::uintptr_t handle) noexcept : handle_{handle}, joinable_{true} {}
    thread(thread&& other) noexcept
        : handle_{other.handle_}, joinable_{std::exchange(other.joinable_, false)} {}
    thread& operator=(thread&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(joinable_, other.joinable_);
        return *this;
    }
    /// Ends the program if it was neither.
    ~thread() {
        if (joinable_) std::terminate();
    }

    [[nodiscard]] bool joinable() const noexcept { return joinable_; }

    /// Waits until its body has returned. Once.
    void join() noexcept;
    /// Lets it run on by itself, instead of a join. It must not use what may end before it does.
    void detach() noexcept;

private:
    std::uintptr_t handle_ = 0;  // the system's
    bool joinable_ = false;
};

/// Starts a thread named `name` (cut to the 15 characters that the kernel keeps) that runs `body`
/// and sleeps without the slack of 50 us that a sleep with a time-out has by default. Threads that
/// the new thread starts have no slack either. Errors: those of the system, typically
/// `resource_unavailable_try_again`. Allocates.
[[nodiscard]] std::expected<thread, std::error_code> start_thread(
    const std::string& name, std::move_only_function<void()> body);

/// The kernel's number of the calling thread.
[[nodiscard]] int thread_id() noexcept;

/// Whether the thread of this process with that number waits in the kernel: it neither runs nor
/// could run. False if that is unknown. Reads a file of /proc.
[[nodiscard]] bool is_blocked(int id) noexcept;

/// Lets another thread have the processor. For a loop that waits for a moment.
void yield() noexcept;

}  // namespace fairlead::os
