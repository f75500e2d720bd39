// What a child process is started with.
#pragma once

#include <fairlead/io/process_options.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <spawn.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <expected>
#include <string>
#include <vector>

namespace fairlead::io {

// Made on a worker; `start` is called on a thread that may block. Errors are those of the system.
class spawn_plan {
public:
    // Both must stay.
    spawn_plan(const std::vector<std::string>& arguments, const process_options& options)
        : arguments_{arguments}, options_{options} {}
    spawn_plan(const spawn_plan&) = delete;
    spawn_plan& operator=(const spawn_plan&) = delete;
    ~spawn_plan();

    // Makes the pipes and all that takes memory. 0, or an error.
    [[nodiscard]] int prepare();

    // The end of this process of a pipe that was asked for: 0, 1, 2 as the child counts.
    [[nodiscard]] os::unique_fd& own_end(std::size_t stream) noexcept { return own_[stream]; }

    // Starts the program: the number of the child, which is not awaited by anything. The mask and
    // the handlers of this process hold in the child until the program runs, but no signal comes
    // through before they are gone: posix_spawn blocks all of them, sets those with a handler to
    // their default, and then sets the mask.
    [[nodiscard]] std::expected<pid_t, int> start() noexcept;

private:
    [[nodiscard]] bool is_valid() const noexcept;
    void list_variables();
    [[nodiscard]] int give(child_stream what, std::size_t stream) noexcept;
    [[nodiscard]] int list_actions() noexcept;

    const std::vector<std::string>& arguments_;
    const process_options& options_;
    std::vector<char*> argument_list_;
    std::vector<char*> variable_list_;  // empty: those of this process
    std::array<os::unique_fd, 3> own_;
    std::array<os::unique_fd, 3> given_;  // what the child gets and nothing else owns
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
    bool has_actions_ = false;
    bool has_attributes_ = false;
};

}  // namespace fairlead::io
