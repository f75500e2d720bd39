// A select: a task waits until the first of several waits has ended, its branches.
//
//     begin --> each branch tries         --one has ended-----------> the task goes on
//           --> each branch waits         --one has ended meanwhile-> the rest leaves, it goes on
//           --> the task waits
//                 a grant, a close        claims its branch, tells -> the rest leaves, it goes on
//                 a stop, a deadline      claims for none          -> all leave, it goes on
//
// One word decides, `sync::choice`: so exactly one branch ends, and each other branch is as if it
// had never tried. No two locks are held together, so branches may be of one object, in any order.
//
// The task goes on when no other thread can touch its branches any more. A branch that waits in the
// FIFO of a structure leaves under the mutex of that. A branch that waits for the end of a task may
// be about to be told: then the select waits for that, which `late_` counts.
//
// One branch may be an operation on a descriptor. Its data belong to the task alone, so it is tried
// when the descriptor is ready, after its claim, when all other branches have left. If it fails all
// the same, as after an edge without data, the select begins again, at the end of each FIFO.
//
// Spec: Select in spec/MAP.md.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/choice.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>

namespace fairlead::coro {

class select_wait;

/// A wait as a branch.
class select_branch {
public:
    select_branch() = default;
    select_branch(const select_branch&) = delete;
    select_branch& operator=(const select_branch&) = delete;

    /// The select is about to begin. Gives the deadline of the branch.
    [[nodiscard]] virtual time_point begin(select_wait& of, sync::choice::branch number) = 0;

    /// Tries, while no branch waits. True: it has ended, and was claimed.
    [[nodiscard]] virtual bool try_enter() = 0;

    /// Begins to wait. False: it has ended, and was claimed; or another branch was.
    [[nodiscard]] virtual bool enter() = 0;

    /// Ends the wait. False: it has ended, and is told or about to be, by `select_wait::tell`.
    /// True: no other thread touches the branch any more.
    [[nodiscard]] virtual bool leave() noexcept = 0;

    /// What to try again when its source fires; or null.
    [[nodiscard]] virtual retried_operation* retried() noexcept { return nullptr; }

protected:
    ~select_branch() = default;

private:
    friend class select_wait;

    bool is_enabled_ = true;
    bool waits_ = false;
};

/// The awaiter, for derivation: it has the branches, and collects the result.
class select_wait : public awaited_operation {
public:
    select_wait(const select_wait&) = delete;
    select_wait& operator=(const select_wait&) = delete;

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        if (!begin(bottom)) {
            return bottom.take_turn_if_due(leaf, leaf.promise(), await_cost::compound);
        }
        bottom.wait_at(leaf, leaf.promise(), root::until::agreement, deadline_);
        bottom.await_operation(*this);
        return true;
    }

    // --- for branches ----------------------------------------------------------------------------

    /// The task that waits.
    [[nodiscard]] root& waiting() const noexcept { return *waiting_; }
    [[nodiscard]] sync::choice& choice() noexcept { return choice_; }

    /// A branch has ended that waits for an end that is told without a mutex. The last touch of
    /// this object and of the branch.
    void tell(sync::choice::branch number) noexcept;

protected:
    using number = sync::choice::branch;
    static constexpr number none = UINT8_MAX;  // for which a stop or a deadline claims

    /// `branches`: must not change. `in_order`: the first branch that can end does; otherwise each
    /// select of the task begins at the next branch.
    select_wait(std::span<select_branch* const> branches, bool in_order) noexcept
        : branches_{branches}, in_order_{in_order} {}
    ~select_wait() = default;

    static void set_enabled(select_branch& branch, bool enabled) noexcept {
        branch.is_enabled_ = enabled;
    }

    /// Which branch has ended; `none`: all have left, and `early` says why. Asked once. Throws what
    /// a branch has thrown when it tried.
    [[nodiscard]] number ended();
    /// Of the branch that has ended: `expired` if it was its deadline. Of the select: why all left.
    [[nodiscard]] std::optional<wait_error> early() const noexcept { return early_; }

private:
    [[nodiscard]] bool begin(root& bottom) noexcept;
    [[nodiscard]] bool start() noexcept;
    [[nodiscard]] bool try_all();
    void enter_all();
    [[nodiscard]] bool leave_all() noexcept;
    [[nodiscard]] bool retry() noexcept;

    [[nodiscard]] bool must_wait(root& holder) noexcept final;
    [[nodiscard]] bool is_woken() noexcept final;
    [[nodiscard]] bool can_go() noexcept final { return has_left_ || !leave_all(); }
    [[nodiscard]] bool interrupt(interruption why) noexcept final;
    [[nodiscard]] bool withdraw() noexcept final;

    const std::span<select_branch* const> branches_;
    const bool in_order_;
    bool has_left_ = false;  // no branch waits any more, but for late ones
    number first_ = 0;       // at which the select begins
    number ended_ = none;    // by its deadline
    number soonest_ = none;  // the branch with the earliest deadline
    number retried_ = none;  // the branch with a retried operation
    sync::choice choice_;
    sync::atomic<std::int32_t> late_{0};  // branches that could not leave, less those told
    std::optional<wait_error> early_;
    time_point deadline_ = never;
    root* waiting_ = nullptr;
    std::exception_ptr failure_;
};

}  // namespace fairlead::coro
