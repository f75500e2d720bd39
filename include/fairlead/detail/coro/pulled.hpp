// The children of a combinator that are read from a range as they begin.
//
//     the range --next--> a runner, which awaits one child after the other
//
// There are as many runners as children may run at once. Each runner is a child of the combinator,
// so the first failure in time, stops and the end are those of every combinator. Nothing is read
// ahead: an element is read when its child begins.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/child_group.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <cstddef>
#include <exception>
#include <expected>
#include <iterator>
#include <mutex>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::coro {

template <class Range>
inline constexpr bool is_vector = false;
template <class T, class Allocator>
inline constexpr bool is_vector<std::vector<T, Allocator>> = true;

/// What gives children one after the other. A vector has them all already.
template <class Range>
concept range_of_children =
    std::ranges::input_range<Range> && !is_vector<std::remove_cvref_t<Range>> &&
    awaitable<std::ranges::range_reference_t<Range>>;

template <class Range>
using child_of_range = awaited_t<std::ranges::range_reference_t<Range>>;

template <class T>
struct numbered_task {
    std::size_t index;
    task<T> body;
};

// `Range` is a reference if the range was passed as an lvalue. One runner reads at a time.
template <class Range>
class pulled {
public:
    using result = child_of_range<Range>;
    using child = numbered_task<result>;

    explicit pulled(Range&& range) : range_(std::forward<Range>(range)) {}
    pulled(const pulled&) = delete;
    pulled& operator=(const pulled&) = delete;

    // None: there are no more, or none are to begin. What the range throws is its end.
    [[nodiscard]] std::optional<child> next() {
        const std::lock_guard lock{mutex_};
        if (is_cut_) return std::nullopt;
        is_cut_ = true;  // if the range throws
        std::optional<child> made;
        if (advance()) made.emplace(child{count_++, as_task(**at_)});
        is_cut_ = false;
        return made;
    }

    // No more are to begin.
    void cut() noexcept {
        const std::lock_guard lock{mutex_};
        is_cut_ = true;
    }

    // When all runners have ended: whether a child has not begun.
    [[nodiscard]] bool has_more() { return is_cut_ && advance(); }

private:
    // To the next element. False: the end.
    bool advance() {
        if (!has_ended_ && !at_) {
            at_.emplace(std::ranges::begin(range_));
        } else if (!has_ended_) {
            ++*at_;
        }
        has_ended_ = has_ended_ || *at_ == std::ranges::end(range_);
        return !has_ended_;
    }

    Range range_;
    sync::mutex mutex_;
    std::optional<std::ranges::iterator_t<Range>> at_;  // this and the next ones: guarded by mutex_
    std::size_t count_ = 0;
    bool has_ended_ = false;
    bool is_cut_ = false;
};

// Results of children by their index. Any runner.
template <class T>
class kept {
public:
    void put(std::size_t index, T&& value) {
        const std::lock_guard lock{mutex_};
        if (values_.size() <= index) values_.resize(index + 1);
        values_[index].emplace(std::move(value));
    }
    // When all runners have ended: visit(index, value) for those that there are, in order.
    template <class Visit>
    void for_each(Visit visit) {
        for (std::size_t index = 0; index != values_.size(); ++index) {
            if (values_[index]) visit(index, *values_[index]);
        }
    }
    [[nodiscard]] std::vector<T> take() {
        std::vector<T> all;
        all.reserve(values_.size());
        for_each([&](std::size_t, T& each) { all.push_back(std::move(each)); });
        return all;
    }

private:
    sync::mutex mutex_;
    std::vector<std::optional<T>> values_;  // guarded by mutex_
};

// A runner. `keep(index, settled)` says how the runner ends, or `child_undecided`: it goes on. What
// `keep` throws, and what the range throws, ends the runner. A runner for which no child is left is
// undecided.
template <class Range, class Keep>
task<child_end> run_one_by_one(pulled<Range>& from, typename pulled<Range>::child first,
                               Keep& keep) {
    const root& self = co_await running_root();
    const executor home = self.where();
    for (std::optional<typename pulled<Range>::child> next{std::move(first)}; next;
         next = from.next()) {
        std::optional<settled<child_of_range<Range>>> ended;
        try {
            if constexpr (std::is_void_v<child_of_range<Range>>) {
                co_await std::move(next->body);
                ended.emplace();
            } else {
                ended.emplace(std::in_place, co_await std::move(next->body));
            }
        } catch (...) {
            ended.emplace(std::unexpect, std::current_exception());
        }
        if (!(self.where() == home)) co_await resume_on(home);  // the child has moved
        if (const child_end how = keep(next->index, *std::move(ended)); how != child_undecided) {
            from.cut();
            co_return how;
        }
        if (self.hears_stop()) from.cut();
    }
    co_return child_undecided;
}

// As many runners as children may run at once. `from` and `keep` must last.
template <class Range, class Keep>
many_tasks<child_end> runners_of(pulled<Range>& from, std::size_t at_once, Keep& keep) {
    many_tasks<child_end> runners;
    while (runners.size() != at_once) {
        auto first = from.next();
        if (!first) break;
        runners.push_back(run_one_by_one(from, *std::move(first), keep));
    }
    return runners;
}

}  // namespace fairlead::coro
