// A file descriptor that is closed with its owner.
#pragma once

#include <fairlead/base/language.hpp>

#include <utility>

namespace fairlead::os {

/// Closes `fd`. A failure of close is ignored: the descriptor is gone in any case.
void close_fd(int fd) noexcept;

class unique_fd {
public:
    unique_fd() = default;
    explicit unique_fd(int fd) noexcept : fd_{fd} {}
    unique_fd(unique_fd&& other) noexcept : fd_{other.release()} {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = other.release();
        }
        return *this;
    }
    ~unique_fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept {
        if (fd_ >= 0) close_fd(release());
    }

private:
    int fd_ = -1;
};

}  // namespace fairlead::os
