// The trace of a request: which request it is, across tasks, messages and hosts.
//
//     const auto caller = fl::trace::parse(header("traceparent"));
//     const fl::trace here = caller ? spans.child_of(*caller) : spans.start();
//     co_await fl::with_trace(here, handle(request));
//
// The text is that of W3C Trace Context, level 1: https://www.w3.org/TR/trace-context/
#pragma once

#include <fairlead/context/context.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/sync/number_source.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {

/// A span of a trace.
struct trace {
    /// The trace: not all zero.
    std::array<std::uint8_t, 16> trace_id{};
    /// The span: not all zero.
    std::array<std::uint8_t, 8> span_id{};
    /// Bit 0: the caller records the trace.
    std::uint8_t flags = 0;

    /// Whether the caller records the trace.
    [[nodiscard]] bool is_sampled() const noexcept { return (flags & 1) != 0; }

    /// Reads `traceparent`. Nothing: the text is malformed, has an ID of zeros, or is of the
    /// version that the standard forbids. Of a later version it reads what this one has. Allocates
    /// nothing.
    [[nodiscard]] static std::optional<trace> parse(std::string_view traceparent) noexcept;

    /// Writes it as `traceparent`, of version 00: 55 characters. Throws `std::bad_alloc`.
    [[nodiscard]] std::string to_string() const;

    /// The trace alone: 32 hexadecimal digits, for a log. Throws `std::bad_alloc`.
    [[nodiscard]] std::string trace_id_text() const;

    /// Whether all is the same.
    friend bool operator==(const trace&, const trace&) = default;
};

/// Makes IDs of traces and spans: numbers that look random, and are the same again from the same
/// seed. Any thread; one atomic addition each.
class trace_source {
public:
    /// A seed of the system's. Throws what `std::random_device` throws.
    trace_source();
    /// For tests and simulations.
    explicit trace_source(std::uint64_t seed) noexcept : numbers_{seed} {}

    /// The first span of a new trace.
    [[nodiscard]] trace start() noexcept;

    /// A new span of the trace of `caller`, with its flags.
    [[nodiscard]] trace child_of(const trace& caller) noexcept;

private:
    sync::number_source numbers_;
};

namespace coro {

inline constexpr context_key<trace> trace_key{inherit::messages};

}  // namespace coro

/// The trace of a context; null: there is none. Valid as a value of it is.
[[nodiscard]] inline const trace* trace_of(const context& of) noexcept {
    return of.get(coro::trace_key);
}

/// Runs `body` as part of `span`, and gives its result. The trace reaches messages and detached
/// tasks. Allocates one node.
template <class Result>
task<Result> with_trace(trace span, task<Result> body) {
    return with_value(coro::trace_key, span, std::move(body));
}

}  // namespace fairlead
