// The protocol of fork_join: one coroutine waits for several children, which run here one after the
// other unless other workers take them.
//
//     parent --fork--> first child runs here        the rest are offered, the second on top
//                      it ends: the second is taken back, and runs here, and so on
//                      it is gone: the parent waits for all that are gone
//                      it waits: the children that are still offered are posted, and are gone
//
// A child that runs here has the root of its parent. A child that is taken has a root of its own, a
// strand. The strand is made in memory that the parent's frame has for it, so a theft cannot fail
// and a fork allocates nothing.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/stop_once.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>

namespace fairlead::coro {

class fork;

// A coroutine that has not started, or that has ended and whose frame still exists. What holds it
// stays in place once it runs, and destroys it.
struct unstarted {
    std::coroutine_handle<> frame;
    frame_link* link;

    void destroy() const noexcept {
        if (frame) frame.destroy();
    }
};

// The root of a child that another worker has taken, or that was posted.
class fork_strand final : public root {
public:
    fork_strand(executor where, fork& group, std::uint32_t depth) noexcept;

private:
    void on_end() noexcept override;
    void on_abandon() noexcept override;
    [[nodiscard]] bool stopped_by_owner() const noexcept override;

    fork& group_;
};

// A child that may be taken. It stays in place.
class fork_child final : public sched::forked {
public:
    // `set` must follow. The strand is made when it is needed.
    fork_child() noexcept {}
    fork_child(const fork_child&) = delete;
    fork_child& operator=(const fork_child&) = delete;
    ~fork_child() {
        // Relaxed: the fork has ended.
        if (state_.load(sync::relaxed) == detached) std::destroy_at(&strand_);
        body_.destroy();
    }

    void set(fork& group, unstarted body) noexcept {
        group_ = &group;
        body_ = body;
    }
    [[nodiscard]] unstarted& body() noexcept { return body_; }

    [[nodiscard]] basic_task& detach() noexcept override;
    [[nodiscard]] executor target() const noexcept override;

    // Asks the strand to stop, for the reason of the fork: now, or when it is made.
    void request_stop() noexcept;

private:
    enum state : std::uint8_t { untouched, detached, asked_to_stop };

    fork* group_;
    unstarted body_;
    sync::atomic<state> state_{untouched};
    union {
        fork_strand strand_;  // if detached
    };
};

// Only the worker of the parent calls these, except `detach` and what strands call.
class fork : public awaited_operation {
public:
    fork(const fork&) = delete;
    fork& operator=(const fork&) = delete;

    // Suspends `parent`: offers all children but the first and gives the handle of `first`, which
    // is to be resumed.
    [[nodiscard]] std::coroutine_handle<> start(std::coroutine_handle<> parent, frame_link& link,
                                                unstarted& first) noexcept {
        FAIRLEAD_ASSERT(!parent_, "a fork was awaited twice");
        root& bottom = *link.bottom;
        if (!bottom.has_forked()) return start_first(parent, link, first);
        parent_ = parent;
        parent_link_ = &link;
        where_ = bottom.where();
        was_shielded_ = bottom.is_shielded();
        shields_children_ = bottom.shields_children();
        context_ = bottom.context();
        sched::offered_forks& offers = bottom.offers();
        offer(offers);
        const std::coroutine_handle<> next = run_here(first, bottom);
        // With several children the thieves must see all of them now: the next look comes only when
        // the first child ends.
        if (children().size() > 1 && offers.must_open_all()) return open_all(offers, next);
        return offers.must_open() ? open_some(offers, next) : next;
    }

    // A child has ended that ran here, and `bottom` is its root. The handle to resume next.
    [[nodiscard]] std::coroutine_handle<> child_ended(root& bottom) noexcept {
        if (next_ != end_) return run_next(bottom);
        if (bottom.join_is_safepoint()) [[unlikely]]
            return join_in_turn(bottom);
        return bottom.transfer(parent_);
    }

    // The body with this link has ended with an exception, or was given back.
    void child_failed(const frame_link& child, bool is_stop) noexcept;

    // The scheduler that ran a child has given it back: there is no result.
    void child_given_back() noexcept { stop_all(stopped_by::shutdown); }

    [[nodiscard]] bool shields_children() const noexcept { return shields_children_; }
    [[nodiscard]] context_word context() const noexcept { return context_; }

    [[nodiscard]] bool is_stopping() const noexcept { return stop_.is_asked(); }
    [[nodiscard]] stopped_by stop_reason() const noexcept { return stop_.reason(); }

    [[nodiscard]] bool has_failed() const noexcept { return failed_.load(sync::relaxed); }

    /// The link of the child that was first in time to fail; null: none has, but for stops. All
    /// have ended.
    [[nodiscard]] const frame_link* first_failure() const noexcept {
        return first_failure_.load(sync::relaxed);
    }

    /// `failed` has ended with `failure`, which is about to be thrown in the parent.
    void tell_origin(const unstarted& failed, const std::exception_ptr& failure) noexcept;

    // The step ends with a wait of a child that runs here: the children after it have their turn
    // like any task.
    void post_rest(sched::offered_forks& offers) noexcept;

    // A parent that forked while it was shielded shields its children.
    void parent_was_stopped() noexcept {
        if (!was_shielded_) stop_children(parent_link_->bottom->stop_reason());
    }

    [[nodiscard]] bool interrupt(interruption why) noexcept override;
    [[nodiscard]] bool outlasts(root& holder) noexcept override;

protected:
    // `others`: all children but the first. They need not exist yet.
    explicit fork(std::span<fork_child> others) noexcept
        : begin_{others.data()},
          end_{others.data() + others.size()},
          next_{begin_},
          hidden_{end_} {}
    ~fork() = default;

    [[nodiscard]] std::span<fork_child> children() const noexcept { return {begin_, end_}; }

private:
    friend class fork_child;
    friend class fork_strand;

    // What is rare is out of line and called last, so that the rest saves no register for it.
    [[nodiscard]] std::coroutine_handle<> start_first(std::coroutine_handle<> parent,
                                                      frame_link& link, unstarted& first) noexcept;
    [[nodiscard]] static std::coroutine_handle<> open_some(sched::offered_forks& offers,
                                                           std::coroutine_handle<> next) noexcept;
    [[nodiscard]] static std::coroutine_handle<> open_all(sched::offered_forks& offers,
                                                          std::coroutine_handle<> next) noexcept;
    [[nodiscard]] std::coroutine_handle<> skip_rest(root& bottom) noexcept;
    [[nodiscard]] std::coroutine_handle<> join_in_turn(root& bottom) noexcept;

    // Offers the children from the last to the next, while there is room.
    void offer(sched::offered_forks& to) noexcept {
        fork_child* last = hidden_;
        while (last != next_ && to.offer(last[-1])) --last;
        hidden_ = last;
    }

    // The next child is to run here, unless it is gone.
    [[nodiscard]] bool take_next(root& bottom) noexcept {
        if (next_ == hidden_) {
            if (posted_ || !bottom.offers().take_back(*next_)) return false;
            ++hidden_;
        }
        ++next_;
        return true;
    }

    [[nodiscard]] std::coroutine_handle<> run_next(root& bottom) noexcept {
        fork_child& child = *next_;
        if (!take_next(bottom)) return join(bottom);
        if (has_failed()) return skip_rest(bottom);
        sched::offered_forks& offers = bottom.offers();
        if (next_ != hidden_) offer(offers);
        const std::coroutine_handle<> next = run_here(child.body(), bottom);
        return offers.must_open() ? open_some(offers, next) : next;
    }

    [[nodiscard]] std::coroutine_handle<> run_here(unstarted& child, root& bottom) noexcept {
        *child.link = {&bottom, parent_, parent_link_, &child.frame, this};
        return bottom.transfer(child.frame);
    }

    [[nodiscard]] std::coroutine_handle<> join(root& bottom) noexcept;
    void stop_children(stopped_by why) noexcept;
    [[nodiscard]] bool waits_for_others() noexcept;
    void strand_ended() noexcept;
    void stop_all(stopped_by why) noexcept;

    std::coroutine_handle<> parent_;
    frame_link* parent_link_ = nullptr;
    executor where_;           // of the children, also if the parent moves meanwhile
    context_word context_;     // of the children; the parent holds it
    fork_child* const begin_;  // all but the first child
    fork_child* const end_;
    fork_child* next_;    // the child that is to run here next
    fork_child* hidden_;  // [next_, hidden_) are not offered yet

    // The strands that have ended, minus those that the parent waits for. Zero after the parent
    // waits: all have ended.
    sync::atomic<std::ptrdiff_t> ended_{0};
    sync::atomic<bool> failed_{false};
    // Written once, by the first child to fail. Relaxed: read when all have ended, which publishes
    // it.
    sync::atomic<const frame_link*> first_failure_{nullptr};
    bool posted_ = false;            // all children from next_ on are gone
    bool was_shielded_ = false;      // the parent, when it forked
    bool shields_children_ = false;  // from all stops but those of this fork
    stop_once stop_;
};

}  // namespace fairlead::coro
