// Running a function for each element of a container, on all workers that have nothing else to do.
#pragma once

#include <fairlead/coro/bulk.hpp>
#include <fairlead/coro/task.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace fairlead {
namespace coro {

// <iterator> has what these need; <ranges> takes a tenth of a second to compile.
template <class Range>
using iterator_of = decltype(std::ranges::begin(std::declval<Range&>()));

}  // namespace coro

/// What several workers can divide among them: any element is reached at once. Put the elements of
/// anything else into a vector first.
template <class Range>
concept divisible_range =
    std::random_access_iterator<coro::iterator_of<Range>> && requires(Range& range) {
        { std::ranges::size(range) } -> std::integral;
        { std::ranges::end(range) } -> std::sentinel_for<coro::iterator_of<Range>>;
    };

/// A plain function that several workers call at the same time, so it must not change itself. To
/// run a coroutine for each element, see `when_all` and `fork_join`.
template <class Body, class... Argument>
concept bulk_body = std::invocable<const Body&, Argument...> &&
                    !coro::is_task<std::invoke_result_t<const Body&, Argument...>>;

namespace coro {

// Calls body(index).
template <bulk_body<std::size_t> Body>
class [[nodiscard]] loop : bulk {
public:
    loop(std::size_t count, Body body,
         bulk_options wanted) noexcept(std::is_nothrow_move_constructible_v<Body>)
        : bulk{count, visit, wanted}, body_(std::move(body)) {}

    [[nodiscard]] bool await_ready() const noexcept { return count() == 0; }

    template <on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        return start(leaf, leaf.promise());
    }

    void await_resume() { finish(); }

private:
    static void visit(const bulk& self, std::size_t begin, std::size_t end) {
        const Body& body = static_cast<const loop&>(self).body_;
        if constexpr (std::is_trivially_copyable_v<Body> && sizeof(Body) <= 8 * sizeof(void*)) {
            visit_all(Body{body}, begin, end);  // which no store of the loop can change
        } else {
            visit_all<const Body&>(body, begin, end);
        }
    }

    template <class Callable>
    static void visit_all(const Callable body, std::size_t begin, std::size_t end) {
        for (std::size_t index = begin; index != end; ++index) std::invoke(body, index);
    }

    const Body body_;
};

// Calls body(element) or body(index, element).
template <class Iterator, class Body>
struct element_body {
    using reference = std::iter_reference_t<Iterator>;

    Iterator first;
    Body body;

    void operator()(std::size_t index) const {
        reference element = first[static_cast<std::iter_difference_t<Iterator>>(index)];
        if constexpr (bulk_body<Body, reference>) {
            std::invoke(body, std::forward<reference>(element));
        } else {
            std::invoke(body, index, std::forward<reference>(element));
        }
    }
};

// `Range` is a reference if the range was passed as an lvalue.
template <class Range>
struct held_range {
    Range range;
};

template <class Range, class Body>
using loop_over = loop<element_body<iterator_of<Range>, Body>>;

template <class Range, class Body>
class [[nodiscard]] range_loop final : held_range<Range>, public loop_over<Range, Body> {
public:
    range_loop(Range&& passed, Body body, bulk_options wanted)
        : held_range<Range>{std::forward<Range>(passed)},
          loop_over<Range, Body>{static_cast<std::size_t>(std::ranges::size(this->range)),
                                 {std::ranges::begin(this->range), std::move(body)},
                                 wanted} {}
};

}  // namespace coro

/// Calls `body(index)` for all indices below `count`, each once, in any order, on this worker and
/// on workers that have nothing else to do: for a loop whose bodies compute. The waiting
/// coroutine's worker begins at once; idle ones join it, and each claims a chunk after the other,
/// of a size that follows from how long the bodies take. Allocates nothing with one worker; with
/// more some 100 bytes for each that helps, and where there is no memory for them fewer help.
///
/// Other tasks have their turn after each slice, see `bulk_options`. No worker is ever blocked, so
/// loops may run inside `when_all`, `fork_join` and scopes.
///
/// When bodies throw, no more chunks are claimed, and when all have ended that exception is
/// rethrown which a plain loop would have thrown: that of the lowest index. A stop of the waiting
/// task, if it comes before all chunks are claimed, keeps the rest from running, and
/// `stopped_error` is thrown. Inside `shielded` the loop runs to its end.
template <class Body>
    requires bulk_body<std::decay_t<Body>, std::size_t>
[[nodiscard]] auto for_each_index(std::size_t count, Body&& body, bulk_options wanted = {}) {
    return coro::loop<std::decay_t<Body>>{count, std::forward<Body>(body), wanted};
}

/// The same for the elements of a range: `body(element)`, or `body(index, element)`. A range that
/// is passed as an lvalue must last until the loop has ended; any other range is moved into the
/// loop.
template <divisible_range Range, class Body>
    requires(
        bulk_body<std::decay_t<Body>, std::iter_reference_t<coro::iterator_of<Range>>> ||
        bulk_body<std::decay_t<Body>, std::size_t, std::iter_reference_t<coro::iterator_of<Range>>>)
[[nodiscard]] auto for_each(Range&& range, Body&& body, bulk_options wanted = {}) {
    return coro::range_loop<Range, std::decay_t<Body>>{std::forward<Range>(range),
                                                       std::forward<Body>(body), wanted};
}

}  // namespace fairlead
