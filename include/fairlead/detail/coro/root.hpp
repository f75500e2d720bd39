// The bottom of a stack of coroutines: the schedulable task that resumes the innermost one.
//
//     root ----resumes----> leaf            task<> a() { co_await b(); }   the body
//      ^                     | continuation  task<> b() { co_await c(); }
//      |                     v               task<> c() { co_await sleep_for(1s); }   the leaf
//      +------------------- body
//
// An await that must wait does not post anything itself: it tells the root how to wait, and returns
// to it through the suspension. Only then does the root post itself. So the frame is suspended
// before another worker can resume it.
//
// Symmetric transfer: a coroutine that awaits another, or ends, names the next one to resume. Clang
// makes that a jump in every build. GCC does so with -O2 only, and a program cannot ask which it
// is; elsewhere the stack would grow. So with GCC it goes through the loop in `run_coroutines`,
// unless the program is compiled with FAIRLEAD_TAIL_CALLS.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/coro/wake_reason.hpp>
#include <fairlead/detail/coro/await_cost.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/context_node.hpp>
#include <fairlead/detail/coro/failure_trail.hpp>
#include <fairlead/detail/coro/frame_link.hpp>
#include <fairlead/detail/coro/until.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/sched/task.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <utility>

namespace fairlead::coro {

class held_operation;
class loose_fork;

class root : public basic_task {
public:
    using until = coro::until;

    /// `depth`: of the task that starts it, plus one. Deeper tasks are destroyed first.
    root(executor where, task_label label, std::uint32_t depth = sched::access::depth_of_new_task(),
         context_word context = {}) noexcept
        : basic_task{kind, label.name, depth},
          where_{where},
          context_{context},
          spawned_at_{label.spawned_at} {}

    /// Where it is posted, and its children are.
    [[nodiscard]] executor where() const noexcept { return where_; }

    [[nodiscard]] scheduler& home() const noexcept { return where_.owner(); }

    /// Starts at `body`, whose link is `frame`, in the next step.
    void start_at(std::coroutine_handle<> body, frame_link& frame) noexcept {
        resume_point_ = body;
        leaf_ = &frame;
    }

    // --- for awaiters, on the worker that runs this root -----------------------------------------
    /// `leaf` is suspended and waits: until `deadline`, or that of the context, or earlier as
    /// `what` says.
    void wait_at(std::coroutine_handle<> leaf, frame_link& frame, until what,
                 time_point deadline) noexcept {
        resume_point_ = leaf;
        leaf_ = &frame;
        until_ = what;
        deadline_ = deadline;
        awaited_ = nullptr;
        told_stop_ = false;
        next_ = what_next::wait;
        if (context_) [[unlikely]]
            shorten_wait();
    }

    /// `leaf` is suspended until `operation` has ended when it was tried after its source fired;
    /// until `deadline`; or until a stop.
    void retry_at(std::coroutine_handle<> leaf, frame_link& frame, retried_operation& operation,
                  time_point deadline) noexcept {
        wait_at(leaf, frame, until::attempt, deadline);
        operation_ = &operation;
    }

    /// Whether the task may go on without waiting once more in this step: budget and slice are not
    /// used up. Otherwise a task that always finds its data ready would keep its worker for ever.
    [[nodiscard]] bool may_go_on(await_cost cost = await_cost::usual) noexcept {
        if (budget_ < std::to_underlying(cost) || scheduler::should_yield()) return false;
        budget_ -= std::to_underlying(cost);
        return true;
    }

    /// `leaf` need not wait. False: it goes on at once. True: it is suspended, and other tasks have
    /// their turn. Also for a wait that a stop keeps from beginning: a loop that ignores the stop
    /// must not keep its worker.
    [[nodiscard]] bool take_turn_if_due(std::coroutine_handle<> leaf, frame_link& frame,
                                        await_cost cost = await_cost::usual) noexcept {
        if (may_go_on(cost)) return false;
        wait_at(leaf, frame, until::deadline, immediately);
        return true;
    }

    /// Whether a join of a fork asks for its slice: each 16th does.
    [[nodiscard]] bool join_is_safepoint() noexcept { return ++joins_ % 16 == 0; }
    /// How many selects the task has begun, modulo 256.
    [[nodiscard]] std::uint8_t next_choice() noexcept { return choices_++; }
    /// After `retry_at`: other tasks have their turn before the next attempt.
    void take_turn_first() noexcept { turn_first_ = true; }

    /// `leaf` is suspended and goes on elsewhere.
    void move_to(executor other) noexcept {
        if (&other.owner() != &where_.owner()) on_move();
        where_ = other;
    }

    /// After `wait_at` for a completion, or a turn: of what.
    void await_operation(awaited_operation& awaited) noexcept { awaited_ = &awaited; }
    /// In `begin_after_turn`: the same leaf waits for its completion, until `deadline`.
    void wait_on(awaited_operation& awaited, time_point deadline) noexcept;

    /// Why the last wait ended. Takes the signal if that was the reason.
    [[nodiscard]] wake_reason reason() noexcept {
        if (hears_signals() && receive_signal()) return wake_reason::signalled;
        if (hears_stop()) return wake_reason::stopped;
        if (is_overdue()) return wake_reason::overdue;
        return expired() ? wake_reason::expired : wake_reason::woken;
    }

    /// Whether the task was asked to stop and is not shielded from it: then all waits end at once.
    [[nodiscard]] bool hears_stop() const noexcept { return !is_shielded_ && stop_reaches(); }

    /// Whether the deadline of the context has passed: then all waits end at once.
    [[nodiscard]] bool is_overdue() const noexcept { return context_ && deadline_has_passed(); }

    /// False: `ends_waits` gives nothing. Two loads, and so first.
    [[nodiscard]] bool may_end_waits() const noexcept { return hears_stop() || context_; }
    /// Why a wait must not begin, or must end; nothing: it may. A stop first.
    [[nodiscard]] std::optional<wait_error> ends_waits() const noexcept {
        if (hears_stop()) return wait_error::stopped;
        return is_overdue() ? std::optional{wait_error::overdue} : std::nullopt;
    }
    [[noreturn]] void throw_ended(wait_error why) const;
    void throw_if_ended() const {
        if (may_end_waits()) [[unlikely]]
            look_and_throw();
    }

    /// Shields the task from a stop and from the deadline of its context, or no longer. Gives what
    /// held before.
    shield set_shielded(shield now) noexcept;
    [[nodiscard]] bool is_shielded() const noexcept { return is_shielded_; }

    /// A child of a shielded task: only its owner can stop it. Called before the first step.
    void inherit_shield(bool shielded) noexcept { inherits_shield_ = shielded; }
    [[nodiscard]] bool shields_children() const noexcept {
        return is_shielded_ || inherits_shield_;
    }

    /// Whether this step may have offered forked work. If so, where.
    [[nodiscard]] bool has_forked() const noexcept { return offers_ != nullptr; }
    [[nodiscard]] sched::offered_forks& offers() const noexcept { return *offers_; }
    void start_forking() noexcept {
        offers_ = &sched::access::current_offers();
        offers_->begin(sched::access::home_of(where_));
    }

    /// Offers `work`, which runs here unless it is taken. What there is no room for is posted.
    void offer_fork(loose_fork& work) noexcept;

    /// After `await_operation`, if it has forked: its loose forks run first.
    void run_forks_first() noexcept {
        next_ = what_next::join;
        offers_->open_if_several();
    }

    /// The handle to resume for going on with `next`, inside this root.
    [[nodiscard]] std::coroutine_handle<> transfer(std::coroutine_handle<> next) noexcept {
#if defined(__clang__) || defined(FAIRLEAD_TAIL_CALLS)
        return next;
#else
        resume_point_ = next;
        next_ = what_next::resume;
        return std::noop_coroutine();
#endif
    }

    /// The body has ended.
    [[nodiscard]] std::coroutine_handle<> end() noexcept {
        next_ = what_next::end;
        return std::noop_coroutine();
    }

    // --- what it inherits, and hands on ----------------------------------------------------------

    [[nodiscard]] context_word context() const noexcept { return context_.word(); }
    /// Gives what held before. During a step.
    [[nodiscard]] held_context change_context(held_context now) noexcept;

    // --- where an exception came from ------------------------------------------------------------

    [[nodiscard]] kept_trail& trail() noexcept { return trail_; }
    [[nodiscard]] failed_task as_failed() const noexcept { return {name(), spawned_at_}; }

    /// The task has ended with `failure`.
    [[nodiscard]] std::unique_ptr<failure_trail> trail_at_end(
        const std::exception_ptr& failure) noexcept {
        return trail_.take_with(failure, as_failed());
    }

protected:
    ~root() = default;

    /// Whether its scheduler has given it back before it could end: then there is no result.
    [[nodiscard]] bool is_abandoned() const noexcept { return is_abandoned_; }

    /// The body has ended; its frame still exists. The last touch of this object: it may free it.
    virtual void on_end() noexcept = 0;
    /// The scheduler is destroyed; all frames of the stack are gone. The last touch of this object.
    virtual void on_abandon() noexcept = 0;
    /// The task moves to another scheduler. Called on the worker that it leaves.
    virtual void on_move() noexcept {}

    /// The deadline has passed before the first step: ends the body with `failure`. False: the body
    /// begins all the same.
    [[nodiscard]] virtual bool refuse(const std::exception_ptr& failure) noexcept {
        static_cast<void>(failure);
        return false;
    }

    /// Whether the owner of the task has asked it to stop. Asked only if the shield is inherited.
    [[nodiscard]] virtual bool stopped_by_owner() const noexcept { return true; }

private:
    friend class held_operation;

    enum class what_next : std::uint8_t { wait, resume, join, end };

    static const task_kind kind;
    static void run_step(basic_task& task) noexcept;
    static bool can_abandon(basic_task& task) noexcept;
    static void abandon(basic_task& task) noexcept;
    [[nodiscard]] bool withdraw() noexcept;
    [[nodiscard]] bool waits_to_go(awaited_operation& operation) noexcept;

    [[nodiscard]] bool hears_signals() const noexcept {
        return until_ == until::anything || until_ == until::signal;
    }

    // Not behind the shield of a parent; the task's own shield does not count.
    [[nodiscard]] bool stop_reaches() const noexcept {
        return stop_requested() && (!inherits_shield_ || stopped_by_owner());
    }

    enum class due : std::uint8_t { step, wait, end };
    [[nodiscard]] due due_now() noexcept;
    [[nodiscard]] bool is_refused() noexcept;
    void look_and_throw() const;
    void shorten_wait() noexcept;
    [[nodiscard]] bool deadline_has_passed() const noexcept;
    void run_coroutines() noexcept;
    static void run_forks(root& outermost) noexcept;
    [[nodiscard]] bool interrupt_awaited() noexcept;
    [[nodiscard]] bool tell_stop_once() noexcept;
    void post_forks() noexcept;
    void stop_forks() noexcept;
    void post() noexcept;
    [[nodiscard]] time_point begin_wait() noexcept;
    void destroy_frames() noexcept;

    std::coroutine_handle<> resume_point_;
    frame_link* leaf_ = nullptr;
    executor where_;
    sched::offered_forks* offers_ = nullptr;  // of this step's worker, once it has forked
    union {
        awaited_operation* awaited_ = nullptr;  // of a completion
        retried_operation* operation_;          // of an attempt
    };
    held_operation* held_ = nullptr;  // the innermost
    held_context context_;
    time_point deadline_ = immediately;
    const std::source_location spawned_at_;
    kept_trail trail_;
    until until_ = until::start;
    what_next next_ = what_next::wait;
    std::uint16_t budget_ = 0;
    std::uint8_t joins_ = 0, choices_ = 0;
    bool turn_first_ = false;
    bool is_shielded_ : 1 = false;  // one byte with the next four
    bool inherits_shield_ : 1 = false;
    bool has_forks_ : 1 = false;  // children of a fork run elsewhere, and were not told of a stop
    bool is_abandoned_ : 1 = false;
    bool told_stop_ : 1 = false;  // the awaited operation was told of the stop
};

}  // namespace fairlead::coro
