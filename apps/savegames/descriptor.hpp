// Owns a file descriptor. Closing the descriptor releases its locks.
#pragma once

#include <unistd.h>

#include <utility>

namespace savegames {

class descriptor {
public:
    explicit descriptor(int fd = -1) noexcept : fd_{fd} {}
    descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

}  // namespace savegames
