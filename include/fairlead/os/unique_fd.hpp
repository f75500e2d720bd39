// A file descriptor that is closed with its owner.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <utility>

namespace fairlead::os {

/// Closes `fd`. A failure of close is ignored: the descriptor is gone in any case.
void close_fd(int fd) noexcept;

/// Owns one file descriptor, or none. One thread at a time; allocates nothing.
class unique_fd {
public:
    /// Owns none.
    unique_fd() = default;
    /// Takes over `fd`; a negative number is none.
    explicit unique_fd(int fd) noexcept : fd_{fd} {}
    /// Takes over the descriptor of `other`, which has none then.
    unique_fd(unique_fd&& other) noexcept : fd_{other.release()} {}
    /// Closes its own, and takes over that of `other`.
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = other.release();
        }
        return *this;
    }
    /// Closes the descriptor.
    ~unique_fd() { reset(); }

    /// The descriptor, or -1.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// Whether it owns one.
    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
    /// Gives the descriptor to the caller, which closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// Closes the descriptor, and owns none then.
    void reset() noexcept {
        if (fd_ >= 0) close_fd(release());
    }

private:
    int fd_ = -1;
};

}  // namespace fairlead::os
