// The stages of a pipeline: how several workers of one stage keep the order of the items.
//
//     items 0 1 2 3 4 5 ...      a stage with three workers is a ring; each worker, for its items:
//
//         worker 0: items 0, 3, ...    waits for its turn to take
//         worker 1: items 1, 4, ...    takes the item from the link in front, passes the turn on
//         worker 2: items 2, 5, ...    calls the function
//                                      waits for its turn to give
//                                      sends the result to the link behind, passes the turn on
//
// So the number of an item, counted in its stage, is its ticket, and the remainder says which
// worker has it. A worker that waits to give holds one result. So a stage holds `at_most` items,
// and takes none while the link behind it is full: the bounds alone slow the source down.
//
// Invariants
//   1. The results in the link behind a stage are those of the first items, in order, but for the
//      items that were dropped as overdue.
//   2. A worker leaves its ring only when it sees that the link in front is closed and empty, and
//      passes its turn to take on then. So turns reach all workers. Only a stop of the scheduler
//      ends the waits for turns without that.
//   3. An item that fails closes all links before its stage at once, and drops what they have:
//      these are later items. It closes the link behind its stage in its turn: earlier items pass.
//   4. A link that is closed while a worker may still send to it has all links before it closed.
//   5. Of several failures the one with the smallest number stays. That is the earliest item: fewer
//      items come to a later stage, and none from behind a failed item.
//   6. The last worker of a stage closes the link behind it.
//
// Rejected: a task for each item, with a queue of their handles (it allocates for each item); a
// buffer that sorts (a bound of its own, and a slow item fills it).
//
// Spec: Pipeline in spec/MAP.md.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/overdue.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/context/entered.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/message/awaited_result.hpp>
#include <fairlead/detail/message/pipeline_state.hpp>
#include <fairlead/message/envelope.hpp>
#include <fairlead/sched/executor.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

// GCC 12 warns of each coroutine whose function is a lambda of a source file.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

namespace fairlead::messages {

// What became of an item. Neither: it was overdue.
template <class U>
struct stage_result {
    using value_type = std::conditional_t<std::is_void_v<U>, std::monostate, U>;

    std::optional<value_type> value;
    std::exception_ptr failure;
};

// Whether the deadline of the sender has passed.
template <class T>
[[nodiscard]] bool is_overdue(const envelope<T>& item, const coro::root& worker) noexcept {
    const time_point deadline = item.sender.deadline();
    return deadline != never && worker.home().now() >= deadline;
}

// Calls the function of the stage in the context of the item.
template <class U, class F, class T>
task<> call_stage(F& f, envelope<T>& item, stage_result<U>& made) {
    coro::root& worker = co_await coro::running_root();
    if (is_overdue(item, worker)) co_return;
    std::optional<coro::entered> context;
    if (item.sender.held() || worker.context()) context.emplace(worker, item.sender.held());
    using returned = std::invoke_result_t<F&, T>;
    try {
        if constexpr (std::is_void_v<U>) {
            if constexpr (awaited_result<returned>::is_task) {
                co_await std::invoke(f, std::move(item.message));
            } else {
                std::invoke(f, std::move(item.message));
            }
            made.value.emplace();
        } else if constexpr (awaited_result<returned>::is_task) {
            made.value.emplace(co_await std::invoke(f, std::move(item.message)));
        } else {
            made.value.emplace(std::invoke(f, std::move(item.message)));
        }
    } catch (...) {
        made.failure = std::current_exception();
    }
    if (made.failure && is_overdue(item, worker) && coro::is_overdue_failure(made.failure)) {
        made.failure = nullptr;
    }
}

// Sends the result on, with the context of the item, and waits for a place. Whether it was sent, or
// the link is closed; `overdue`: it was dropped.
template <class U>
task<waited<void>> give(channel<envelope<U>>& to, const context& sender, U& value) {
    coro::root& worker = co_await coro::running_root();
    std::optional<coro::entered> context;
    if (sender.held() || worker.context()) context.emplace(worker, sender.held());
    const auto sent = co_await to.send(std::move(value));
    co_return sent;
}

// The link behind a stage that gives nothing.
struct no_link {};
template <class U>
struct link_of {
    using type = std::shared_ptr<link<U>>;
};
template <>
struct link_of<void> {
    using type = no_link;
};

template <class T, class U, class F>
class stage;

template <class T, class U, class F>
task<> run_stage(std::shared_ptr<pipeline_state> all, stage<T, U, F>& of, std::size_t number) {
    stage_worker self{std::move(all), of, number};
    const bool is_alone = of.options().at_most == 1;
    for (;;) {
        if (!is_alone) {
            const auto turn = co_await self.turn_to_take();
            if (!turn) co_return self.end_by(turn.error());
        }
        auto item = co_await of.from->elements().receive();
        if (item) self.take();
        if (!is_alone) self.pass_take();
        if (!item) co_return self.end_by(item.error());

        stage_result<U> made;
        co_await call_stage(of.f, *item, made);
        const bool has_failed = made.failure != nullptr;
        if (has_failed) self.fail(std::move(made.failure));
        if (!is_alone) {
            const auto turn = co_await self.turn_to_give();
            if (!turn) co_return self.end_by(turn.error());
        }
        waited<void> given;
        if (has_failed) {
            self.close_behind();
        } else if constexpr (!std::is_void_v<U>) {
            if (made.value) given = co_await give(of.to->elements(), item->sender, *made.value);
        }
        if (!given && given.error() == wait_error::stopped) co_return self.end_by(given.error());
        // Also if the link is closed: then so is the one in front, and the turns must go round.
        self.end_item(made.value.has_value() && given.has_value());
        if (!is_alone) self.pass_give();
    }
}

// `f`: from `T` to `U`.
template <class T, class U, class F>
class stage final : public stage_base {
public:
    stage(F&& function, stage_options options, std::size_t number, std::shared_ptr<link<T>> before,
          link_of<U>::type behind)
        : stage_base{options, number},
          f(std::forward<F>(function)),
          from{std::move(before)},
          to{std::move(behind)} {}

    void start(executor where, const std::shared_ptr<pipeline_state>& of) override {
        for (std::size_t i = 0; i != options().at_most; ++i) {
            // A deadline of the task that starts it does not end the pipeline, as invariant 2 says.
            spawn(where, run_stage<T, U, F>(of, *this, i),
                  {.name = options().name, .detached = true})
                .detach();
        }
    }
    [[nodiscard]] std::size_t waiting() noexcept override { return from->elements().length(); }

    F f;
    const std::shared_ptr<link<T>> from;
    [[no_unique_address]] const link_of<U>::type to;
};

}  // namespace fairlead::messages

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
