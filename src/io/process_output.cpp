#include <fairlead/io/process_output.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/pipe_stream.hpp>
#include <fairlead/io/process.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace fairlead::io {
namespace {

// An exception, as the first one makes the tasks beside it stop.
struct collecting_failed {
    std::error_code why;
};

task<> collect(pipe_stream& from, std::string& into, std::size_t limit, time_point deadline) {
    std::array<std::byte, 16 * 1024> buffer;
    while (from.is_open()) {
        const auto size = co_await from.read_some(buffer, deadline);
        if (!size) throw collecting_failed{size.error()};
        if (*size == 0) co_return;
        if (*size > limit - into.size()) {
            throw collecting_failed{std::make_error_code(std::errc::file_too_large)};
        }
        into.append(reinterpret_cast<const char*>(buffer.data()), *size);
    }
}

task<> feed(pipe_stream& to, const std::string& input, time_point deadline) {
    if (!to.is_open()) co_return;
    const auto written = co_await to.write_all(std::as_bytes(std::span{input}), deadline);
    if (!written && written.error() != std::errc::broken_pipe) {
        throw collecting_failed{written.error()};
    }
    to.close();
}

task<std::expected<void, std::error_code>> exchange_all(process& with,
                                                        const output_options& options,
                                                        process_output& said, time_point deadline) {
    try {
        const auto ended =
            co_await as_result(when_all(feed(with.in(), options.input, deadline),
                                        collect(with.out(), said.out, options.limit, deadline),
                                        collect(with.err(), said.err, options.limit, deadline)));
        if (!ended) co_return std::unexpected{detail::code_of(ended.error())};
    } catch (const collecting_failed& failure) {
        co_return std::unexpected{failure.why};
    }
    co_return std::expected<void, std::error_code>{};
}

}  // namespace

task<std::expected<process_output, std::error_code>> output_of(std::vector<std::string> arguments,
                                                               output_options options,
                                                               time_point deadline) {
    process_options& start = options.process;
    start.out = child_stream::pipe();
    if (start.err.what() != child_stream::kind::output) start.err = child_stream::pipe();
    if (!options.input.empty()) start.in = child_stream::pipe();
    auto running = co_await process::spawn(std::move(arguments), std::move(start));
    if (!running) co_return std::unexpected{running.error()};
    process_output said;
    const auto collected = co_await exchange_all(*running, options, said, deadline);
    if (!collected) co_return std::unexpected{collected.error()};
    const auto ended = co_await running->wait(deadline);
    if (!ended) co_return std::unexpected{ended.error()};
    said.status = *ended;
    co_return std::move(said);
}

task<std::expected<process_output, std::error_code>> output_of(std::vector<std::string> arguments,
                                                               time_point deadline) {
    return output_of(std::move(arguments), output_options{}, deadline);
}

}  // namespace fairlead::io
