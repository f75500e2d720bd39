// Child processes: started without a shell, awaited without a signal, and never left as zombies.
//
//     std::vector<std::string> command{"sort", "-n"};
//     fl::io::process_options options{.in = fl::io::child_stream::pipe()};
//     auto child = co_await fl::io::process::spawn(command, options);
//     co_await child->in().write_all(bytes);
//     child->in().close();
//     auto ended = co_await child->wait(fl::clock::now() + 5s);
//     if (ended && ended->succeeded()) ...
//
// A child is told from all other processes by a descriptor (pidfd), which becomes readable at its
// end. So there is no handler of SIGCHLD, nothing waits for children of other code, and a signal
// reaches no process that has got the number of the child later. A kernel before 5.4, or a filter
// that refuses pidfds, costs one thread for each child instead, which waits for its end.
//
// What the program itself does may take the status away: a SIGCHLD that is ignored, or a wait for
// any child (`waitpid(-1)`). Then the wait gives `no_child_process`, and `kill` `no_such_process`.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/exit_status.hpp>
#include <fairlead/io/pipe_stream.hpp>
#include <fairlead/io/process_options.hpp>
#include <fairlead/io/watch.hpp>

#include <sys/types.h>

#include <expected>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead::io {

class child;

/// A child that runs, or has run. The destructor sends SIGKILL to a child that was not awaited, and
/// leaves it to a thread, which lasts until the child has ended: no zombie stays. Without
/// memory for a thread, the destructor waits itself. `leave` lets a child run on.
///
/// `kill` may be called while a task waits. All else: one task at a time, on the scheduler whose
/// task has started it.
class process {
public:
    /// Starts `arguments[0]`, which is looked up in the PATH of this process if it has no '/', with
    /// all of `arguments`. It returns when the child runs the program. The child has the streams of
    /// `options` and no other descriptor; every signal has its default action, and none is blocked.
    ///
    /// Errors: those of execve, such as `no_such_file_or_directory`, `permission_denied`,
    /// `executable_format_error`; those of chdir for `options.directory`; `invalid_argument` for no
    /// arguments, for a NUL in a string, and for a variable without a name or '=';
    /// `too_many_files_open`, `not_enough_memory`, `resource_unavailable_try_again` (processes);
    /// `operation_canceled`, `stream_timeout` before it has begun. After an error no child runs:
    /// if there was a program and no descriptor or memory to watch it, it was killed at once.
    ///
    /// The call is made on a thread, as `fl::blocking` does: it waits until the program is loaded.
    /// The scheduler must have an `epoll_driver`. Allocates. Throws `std::bad_alloc`.
    [[nodiscard]] static task<std::expected<process, std::error_code>> spawn(
        std::vector<std::string> arguments, process_options options);
    /// The same, with the options as they are by themselves.
    [[nodiscard]] static task<std::expected<process, std::error_code>> spawn(
        std::vector<std::string> arguments);

    /// Takes over the child of `other`, which has none then. No task may wait.
    process(process&& other) noexcept;
    /// The same, after what the destructor does for its own.
    process& operator=(process&& other) noexcept;
    ~process();

    /// Waits until the child has ended, and says how. Later waits give the same at once. Errors:
    /// `timed_out`, `operation_canceled`, `stream_timeout`, as of a stream; the child runs on then.
    /// `no_child_process`: see above.
    [[nodiscard]] task<std::expected<exit_status, std::error_code>> wait(
        time_point deadline = never);

    /// Sends a signal to the child; if it leads a group, to all of the group. Errors:
    /// `no_such_process` after a wait has told of the end; `operation_not_permitted` for a child
    /// that runs as another user; `invalid_argument`. Any thread.
    std::expected<void, std::error_code> kill(int signal) noexcept;

    /// Asks the child to end, by SIGTERM; ends it by SIGKILL after `grace`; waits. Errors: those of
    /// `wait` and `kill`. A task that was asked to stop does not wait, so within a shutdown write
    /// `co_await fl::shielded(child.terminate(5s))`.
    [[nodiscard]] task<std::expected<exit_status, std::error_code>> terminate(
        duration grace, time_point deadline = never);

    /// Lets the child run on: it ends by itself, and a thread waits until then, so that no zombie
    /// stays. Afterwards the object has no child. Errors: those of starting a thread; then nothing
    /// has changed. Throws `std::bad_alloc`.
    std::expected<void, std::error_code> leave();

    /// Writes to the standard input of the child: closed, unless it was made as a pipe. A child
    /// that reads to the end needs it closed.
    [[nodiscard]] pipe_stream& in() noexcept { return in_; }
    /// Reads the standard output of the child: closed, unless it was made as a pipe.
    [[nodiscard]] pipe_stream& out() noexcept { return out_; }
    /// Reads the standard error of the child: closed, unless it was made as a pipe.
    [[nodiscard]] pipe_stream& err() noexcept { return err_; }

    /// Whether it has a child: not after `leave`, nor after it was moved from. The other functions,
    /// but for those of the streams, need one.
    [[nodiscard]] bool has_child() const noexcept { return child_ != nullptr; }
    /// The number of the process; of its group, too, if it leads one. Another process may get it
    /// after a wait has told of the end.
    [[nodiscard]] pid_t id() const noexcept;

private:
    process(std::shared_ptr<child> started, watch its_end) noexcept;
    void end() noexcept;

    std::shared_ptr<child> child_;
    watch its_end_;
    pipe_stream in_;
    pipe_stream out_;
    pipe_stream err_;
};

}  // namespace fairlead::io
