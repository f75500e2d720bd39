// A race over a range: its first success, and what has lost.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/combine/on_loser.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/children.hpp>
#include <fairlead/detail/coro/pulled.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::combine {

// The first success of a race over a range, and how the other children have ended. Any runner.
template <class T, class Sink>
class race_result {
public:
    explicit race_result(Sink& losers) noexcept : losers_{losers} {}

    [[nodiscard]] coro::child_end put(std::size_t index, settled<T>&& ended, bool succeeds) {
        if (!succeeds) {
            lost_.put(index, std::move(ended));
            return coro::child_undecided;
        }
        const std::lock_guard lock{mutex_};
        if (!winner_) {
            winner_.emplace(std::move(ended));
        } else if constexpr (!std::is_same_v<Sink, drop>) {
            lost_.put(index, std::move(ended));
        }
        return coro::child_succeeded;
    }

    // When all runners have ended: the winner. The losers get theirs. None: there is no winner.
    [[nodiscard]] std::optional<settled<T>> take_winner() {
        if constexpr (!std::is_same_v<Sink, drop>) {
            if (winner_) {
                lost_.for_each([this](std::size_t index, settled<T>& each) {
                    losers_(std::size_t{index}, std::move(each));
                });
            }
        }
        return std::move(winner_);
    }
    [[nodiscard]] std::vector<settled<T>> take_failures() { return lost_.take(); }

private:
    Sink& losers_;
    coro::kept<settled<T>> lost_;
    sync::mutex mutex_;
    std::optional<settled<T>> winner_;  // guarded by mutex_
};

// Runs the children of `from`. `succeeds(settled)` says of one whether it wins. Throws what the
// range has thrown, unless there is a winner.
template <class Range, class Result, class Succeeds>
task<> run_race(coro::group_rule rule, coro::pulled<Range>& from, Result& result,
                max_concurrency bound, Succeeds succeeds) {
    const auto keep = [&](std::size_t index, settled<coro::child_of_range<Range>>&& ended) {
        const bool wins = succeeds(ended);
        return result.put(index, std::move(ended), wins);
    };
    const coro::root& waiting = co_await coro::running_root();
    auto runners = coro::runners_of(from, bound.count, keep);
    coro::children<coro::many_tasks<coro::child_end>> all{waiting, rule, runners};
    co_await all.run(never, runners.size());
    if (all.group().decider() == nullptr) static_cast<void>(all.take_values());
}

}  // namespace fairlead::combine
