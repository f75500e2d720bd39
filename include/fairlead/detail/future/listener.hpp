// What learns that the result of a pair is there.
#pragma once

#include <fairlead/detail/base/chain.hpp>
#include <fairlead/detail/base/language.hpp>

namespace fairlead::futures {

/// The end of a wait for a result: of a task, a thread, or a continuation.
class listener {
public:
    listener() = default;
    listener(listener&&) noexcept = default;  // while it is not attached
    listener& operator=(const listener&) = delete;

    /// The result is there. Called once by any thread, which has no lock; the last touch of this
    /// object by the caller.
    virtual void tell() noexcept = 0;

protected:
    ~listener() = default;
};

/// A continuation: `run` is called through the trampoline of the thread that gives the result.
class continuation : public listener {
public:
    /// May free this object.
    virtual void run() noexcept = 0;

    /// Instead of `run`: there is no place to run any more, as a scheduler is destroyed. May free
    /// this object.
    virtual void abandon() noexcept = 0;

    void tell() noexcept final;

protected:
    ~continuation() = default;

private:
    continuation* next_ = nullptr;  // in a trampoline

public:
    using chain = base::chain<continuation, &continuation::next_>;
};

}  // namespace fairlead::futures
