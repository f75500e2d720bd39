// A pipeline: items pass stages, several at once, and come out in the order in which they went in.
//
//     auto line = fl::pipeline_from<std::string>(pool)
//                     .then(fetch, {.at_most = 8, .name = "fetch"})    // task<page>(std::string)
//                     .then(render, {.at_most = 2, .name = "render"})  // text(page)
//                     .start();
//     co_await line.send(url);  ...  line.close();                     // one task
//     while (auto next = co_await line.receive()) print(*next);        // another task
//     if (auto why = line.failure()) std::rethrow_exception(why);
//
// A stage runs its function for several items at once, and gives the results in order. All that
// lies in between has a bound: when the receiver is slow, each stage fills, and then `send` waits.
// A pipeline holds at most `capacity` and `at_most` of each stage, and the capacity of its end.
//
// The end: after `close` the receiver gets the results that are left, and is `closed` then. A
// function that throws ends the pipeline: senders are `closed` at once; the receiver gets the
// results of all earlier items first, and is `closed` then. What comes out is what a loop that
// calls the functions for one item after the other would have given, and `failure` is what it would
// have thrown.
//
// An item has the context of its sender, in all stages. An item whose deadline has passed is
// dropped and counted; the items behind it go on.
//
// Costs for each item and stage: a channel; with `at_most` above one two events, too. The frames of
// coroutines are recycled, and nothing else is allocated.
//
// Spec: Pipeline in spec/MAP.md.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/operations.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/message/stage.hpp>
#include <fairlead/message/envelope.hpp>
#include <fairlead/message/pipeline_stage.hpp>

#include <cstddef>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {

/// @cond internal
namespace messages {

// A receive that gives the message without its envelope.
template <class T>
class unwrapped_receive : public channels::receive_operation<envelope<T>> {
public:
    using channels::receive_operation<envelope<T>>::receive_operation;

    [[nodiscard]] waited<T> collect(std::optional<wait_error> early) noexcept {
        auto taken = channels::receive_operation<envelope<T>>::collect(early);
        if (!taken) return std::unexpected{taken.error()};
        return std::move(taken->message);
    }

protected:
    ~unwrapped_receive() = default;
};

}  // namespace messages
/// @endcond

template <class In, class Out>
class pipeline_draft;

/// Takes `In`, gives `Out`; or nothing, if its last function returns void. Any thread may call all
/// members but the destructor; the `_blocking` forms are for threads that are no workers.
template <class In, class Out>
class pipeline {
    static constexpr bool gives = !std::is_void_v<Out>;

public:
    /// `other` may only be destroyed or assigned afterwards.
    pipeline(pipeline&& other) noexcept = default;
    /// Ends its own, and takes over that of `other`.
    pipeline& operator=(pipeline&& other) noexcept {
        if (this != &other) {
            if (state_) end();
            state_ = std::move(other.state_);
            in_ = std::move(other.in_);
            out_ = std::move(other.out_);
        }
        return *this;
    }
    /// `end`, without a wait. Nothing may wait for the pipeline.
    ~pipeline() {
        if (state_) end();
    }

    /// Sends an item: see `channel::send`. `closed` also after a failure: see `failure`.
    [[nodiscard]] auto send(In&& item, time_point deadline = never) noexcept {
        return in_->elements().send(std::move(item), deadline);
    }
    /// See `channel::try_send`.
    waited<void> try_send(In&& item) { return in_->elements().try_send(std::move(item)); }
    /// See `channel::send_blocking`.
    [[nodiscard]] waited<void> send_blocking(In&& item, time_point deadline = never) {
        return in_->elements().send_blocking(std::move(item), deadline);
    }
    /// The source has ended: no further item comes in, and all that are inside come out. False: it
    /// was closed before.
    bool close() noexcept { return in_->elements().close(); }

    /// Takes the next result, in the order of the items: `waited<Out>`, which may be `closed`,
    /// `stopped` or `expired`. After `closed` there is none, and `failure` says why.
    [[nodiscard]] auto receive(time_point deadline = never) noexcept
        requires gives
    {
        return coro::task_wait<messages::unwrapped_receive<Out>>{deadline,
                                                                 out_->elements().state()};
    }
    /// Without a wait: `would_wait` if there is none.
    [[nodiscard]] auto try_receive() noexcept
        requires gives
    {
        return channels::try_now<messages::unwrapped_receive<Out>>(out_->elements().state());
    }
    /// The same as `receive` on this thread, which must not be a worker's.
    [[nodiscard]] auto receive_blocking(time_point deadline = never)
        requires gives
    {
        return coro::wait_on_thread<messages::unwrapped_receive<Out>>(deadline,
                                                                      out_->elements().state());
    }

    /// Ends it now: senders and receivers are `closed`, and what is inside is dropped. Functions
    /// that run go on.
    void end() noexcept { state_->end(); }
    /// Waits until no function runs any more: `waited<void>`, which may be `stopped` or `expired`.
    /// If the pipeline gives results, these must be received, or it must be ended.
    [[nodiscard]] auto ended(time_point deadline = never) const noexcept {
        return state_->ended.wait(deadline);
    }
    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    [[nodiscard]] waited<void> ended_blocking(time_point deadline = never) const {
        return state_->ended.wait_blocking(deadline);
    }
    /// Whether no function runs any more.
    [[nodiscard]] bool has_ended() const noexcept { return state_->ended.is_set(); }

    /// The exception that has ended it, of the earliest item that has failed; null: none. It is
    /// final when the receiver was `closed`, or the pipeline has ended: until then an earlier item
    /// may still fail. A `stopped_error`: its scheduler has stopped.
    [[nodiscard]] std::exception_ptr failure() const noexcept { return state_->failure(); }

    /// How far each stage is, in the order of the stages. Each is exact, at its own moment.
    /// Allocates; throws `std::bad_alloc`.
    [[nodiscard]] std::vector<stage_progress> progress() const {
        std::vector<stage_progress> all;
        all.reserve(state_->stages.size());
        for (const auto& each : state_->stages) all.push_back(each->progress());
        return all;
    }

private:
    template <class, class>
    friend class pipeline_draft;

    pipeline(std::shared_ptr<messages::pipeline_state> state,
             std::shared_ptr<messages::link<In>> in, messages::link_of<Out>::type out) noexcept
        : state_{std::move(state)}, in_{std::move(in)}, out_{std::move(out)} {}

    std::shared_ptr<messages::pipeline_state> state_;
    std::shared_ptr<messages::link<In>> in_;
    [[no_unique_address]] messages::link_of<Out>::type out_;
};

/// A pipeline that has not been started; see `pipeline_from`. `Out` is what its last stage gives.
template <class In, class Out>
class pipeline_draft {
public:
    /// @cond internal
    pipeline_draft(executor where, std::shared_ptr<messages::pipeline_state> state,
                   std::shared_ptr<messages::link<In>> in,
                   messages::link_of<Out>::type out) noexcept
        : where_{where}, state_{std::move(state)}, in_{std::move(in)}, out_{std::move(out)} {}
    /// @endcond

    /// Adds a stage: `f(Out)`, plain or a coroutine, several calls of which may run at once. What
    /// it returns goes to the next stage; a stage that returns void is the last. It is kept as long
    /// as the pipeline. Allocates; throws `std::bad_alloc`.
    template <class F>
        requires(!std::is_void_v<Out>)
    [[nodiscard]] auto then(F&& f, stage_options options = {}) && {
        using function = std::decay_t<F>;
        using next = messages::awaited_result<std::invoke_result_t<function&, Out>>::type;
        out_->open(options.capacity);
        typename messages::link_of<next>::type behind;
        if constexpr (!std::is_void_v<next>) behind = std::make_shared<messages::link<next>>();
        function kept(std::forward<F>(f));
        state_->stages.push_back(std::make_unique<messages::stage<Out, next, function>>(
            std::move(kept), options, state_->stages.size(), out_, behind));
        state_->links.push_back(out_);
        return pipeline_draft<In, next>{where_, std::move(state_), std::move(in_),
                                        std::move(behind)};
    }

    /// Starts it. `capacity`: how many results wait at its end. There is a stage. Allocates the
    /// tasks of its stages; throws `std::bad_alloc`.
    [[nodiscard]] pipeline<In, Out> start(std::size_t capacity = 16) && {
        FAIRLEAD_ASSERT(!state_->stages.empty(), "a pipeline has a stage at least");
        if constexpr (!std::is_void_v<Out>) {
            out_->open(capacity);
            state_->links.push_back(out_);
        }
        state_->start(where_, state_);
        return pipeline<In, Out>{std::move(state_), std::move(in_), std::move(out_)};
    }

private:
    const executor where_;
    std::shared_ptr<messages::pipeline_state> state_;
    std::shared_ptr<messages::link<In>> in_;
    [[no_unique_address]] messages::link_of<Out>::type out_;
};

/// Begins a pipeline for items of type `T`, whose functions will run as tasks of `where`.
/// Allocates; throws `std::bad_alloc`.
template <class T>
[[nodiscard]] pipeline_draft<T, T> pipeline_from(executor where) {
    auto in = std::make_shared<messages::link<T>>();
    return {where, std::make_shared<messages::pipeline_state>(), in, in};
}

}  // namespace fairlead
