// How a child process is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fairlead::io {

/// What a child has as its standard input, output or error.
class child_stream {
public:
    /// What it is.
    enum class kind : std::uint8_t { inherited, null, pipe, descriptor, output };

    /// The one of this process.
    [[nodiscard]] static constexpr child_stream inherited() noexcept {
        return child_stream{kind::inherited, -1};
    }
    /// /dev/null: input has ended, output is lost.
    [[nodiscard]] static constexpr child_stream null() noexcept {
        return child_stream{kind::null, -1};
    }
    /// A pipe, whose other end the `process` has.
    [[nodiscard]] static constexpr child_stream pipe() noexcept {
        return child_stream{kind::pipe, -1};
    }
    /// A copy of `fd`, which must be open until the spawn has ended, and which the caller closes.
    /// It should be a blocking one: many programs do not expect another.
    [[nodiscard]] static constexpr child_stream descriptor(int fd) noexcept {
        return child_stream{kind::descriptor, fd};
    }
    /// Of standard error alone: the same as standard output.
    [[nodiscard]] static constexpr child_stream same_as_output() noexcept {
        return child_stream{kind::output, -1};
    }

    /// What it is.
    [[nodiscard]] constexpr kind what() const noexcept { return what_; }
    /// Of a descriptor: its number.
    [[nodiscard]] constexpr int fd() const noexcept { return fd_; }

private:
    constexpr child_stream(kind what, int fd) noexcept : what_{what}, fd_{fd} {}

    kind what_;
    int fd_;
};

/// In which process group a child is.
enum class child_group : std::uint8_t {
    same,  ///< that of this process: a terminal's Ctrl-C reaches both
    own,   ///< it leads a new one: signals to the child go to all that it starts
};

/// How a child process is started.
struct process_options {
    child_stream in = child_stream::null();        ///< its standard input
    child_stream out = child_stream::inherited();  ///< its standard output
    child_stream err = child_stream::inherited();  ///< its standard error
    /// Its working directory; empty: that of this process. A path of the program that has a '/' and
    /// does not begin with it counts from there.
    std::string directory;
    /// Variables, each as "NAME=value". They come beside those of this process and take the place
    /// of those with the same name. Reads the environment, as getenv does, so no thread may change
    /// it meanwhile.
    std::vector<std::string> environment;
    bool clear_environment = false;         ///< it has the variables of `environment` alone
    child_group group = child_group::same;  ///< where signals to the child go
};

}  // namespace fairlead::io
