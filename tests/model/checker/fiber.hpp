// A stack of its own to run a thread of the checked program on, all on one thread of the machine.
#pragma once

#include <cstddef>
#include <span>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace fairlead::model {

class fiber {
public:
    /// The calling thread itself.
    fiber() = default;
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// The next switch to this fiber calls `entry`, which must not return, on the empty stack. What
    /// was on it is forgotten, not destroyed.
    void prepare(void (*entry)(), std::span<std::byte> stack);

    /// Switches from this fiber, which runs, to `to`. Returns when another fiber switches back.
    void switch_to(fiber& to) noexcept;

private:
    // Which exceptions are caught and in flight belongs to a stack, and the library keeps it per
    // thread.
    struct exceptions {
        void* caught = nullptr;
        unsigned in_flight = 0;
    };

    exceptions exceptions_;
#if defined(__x86_64__)
    void* saved_ = nullptr;
#else
    ucontext_t saved_{};
#endif
};

}  // namespace fairlead::model
