// A child process as a call: what it says, and how it ends.
//
//     const std::vector<std::string> command{"git", "rev-parse", "HEAD"};
//     auto said = co_await fl::io::output_of(command, fl::clock::now() + 5s);
//     if (said && said->status.succeeded()) use(said->out);
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/exit_status.hpp>
#include <fairlead/io/process_options.hpp>

#include <cstddef>
#include <expected>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead::io {

/// How the output of a child is collected.
struct output_options {
    /// How it is started. Its standard output is a pipe; so is its standard error, unless that is
    /// the same as its output; so is its input, if `input` is not empty.
    process_options process;
    /// What it reads, then the end. A child that does not read all of it is no error.
    std::string input;
    /// The most bytes of the output, and of the errors.
    std::size_t limit = std::size_t{1} << 20;
};

/// What a child has said, and how it has ended.
struct process_output {
    exit_status status = exit_status::of_code(0);  ///< how it has ended
    std::string out;                               ///< its standard output
    std::string err;                               ///< its standard error
};

/// Runs a program and collects both of its outputs at the same time, so that no full pipe stops it.
/// Returns when both outputs have ended and the child has. A process that the child has started and
/// left behind, and that has its output still, is waited for, too: `child_group::own` lets an error
/// end it.
///
/// Errors: those of `process::spawn` and of pipes; `file_too_large` beyond the limit; `timed_out`,
/// `operation_canceled`, `stream_timeout`. After an error the child is killed. Allocates.
[[nodiscard]] task<std::expected<process_output, std::error_code>> output_of(
    std::vector<std::string> arguments, output_options options, time_point deadline = never);
/// The same, with the options as they are by themselves.
[[nodiscard]] task<std::expected<process_output, std::error_code>> output_of(
    std::vector<std::string> arguments, time_point deadline = never);

}  // namespace fairlead::io
