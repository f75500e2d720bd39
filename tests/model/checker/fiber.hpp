// A stack for a thread of the checked program. All fibers run on one thread of the machine.
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

    /// The next switch to this fiber calls `entry` on the empty stack. `entry` must not return. The
    /// old objects on the stack are forgotten, not destroyed.
    void prepare(void (*entry)(), std::span<std::byte> stack);

    /// Switches from this fiber, which runs, to `to`. Returns when another fiber switches back.
    void switch_to(fiber& to) noexcept;

private:
    // The exceptions that are caught and in flight belong to a stack, but the C++ runtime keeps
    // them per thread. So each fiber saves them.
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
