// A branch of a select whose end is told without a mutex: the end of a task, or the result of a
// future. Telling claims the branch. So a branch may be about to be told while the select leaves
// it; the select waits for that.
#pragma once

#include <fairlead/detail/coro/select_wait.hpp>
#include <fairlead/detail/sync/choice.hpp>

namespace fairlead::coro {

/// `Told`: the interface of what is told, with `void tell() noexcept`. For derivation.
template <class Told>
class told_branch : public select_branch, protected Told {
protected:
    told_branch() = default;
    ~told_branch() = default;

    void begin_in(select_wait& of, sync::choice::branch number) noexcept {
        of_ = &of;
        number_ = number;
    }

    [[nodiscard]] bool claim() noexcept { return of_->choice().claim(number_); }

    /// The result of `enter`. `waits`: `tell` will be called; otherwise the branch has ended.
    [[nodiscard]] bool entered(bool waits) noexcept {
        if (!waits) static_cast<void>(claim());
        return waits;
    }

private:
    void tell() noexcept final { of_->tell(number_); }

    select_wait* of_ = nullptr;
    sync::choice::branch number_ = 0;
};

}  // namespace fairlead::coro
