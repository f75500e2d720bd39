// The file of a Unix socket: it goes with its owner.
#pragma once

#include <fairlead/io/unix_address.hpp>

#include <sys/types.h>

#include <utility>

namespace fairlead::io::detail {

// Removes the file at its end, unless another one has taken its place.
class owned_socket_file {
public:
    owned_socket_file() noexcept = default;
    // The file that a socket was just bound to; none if `where` is no path.
    explicit owned_socket_file(const unix_address& where) noexcept;
    owned_socket_file(owned_socket_file&& other) noexcept
        : where_{other.where_}, device_{other.device_}, inode_{std::exchange(other.inode_, 0)} {}
    owned_socket_file& operator=(owned_socket_file&& other) noexcept {
        if (this != &other) {
            remove();
            where_ = other.where_;
            device_ = other.device_;
            inode_ = std::exchange(other.inode_, 0);
        }
        return *this;
    }
    ~owned_socket_file() { remove(); }

    void remove() noexcept;
    // It stays.
    void release() noexcept { inode_ = 0; }

private:
    [[nodiscard]] const char* path() const noexcept { return where_.name().data(); }

    unix_address where_;
    dev_t device_ = 0;
    ino_t inode_ = 0;  // 0: it owns none
};

}  // namespace fairlead::io::detail
