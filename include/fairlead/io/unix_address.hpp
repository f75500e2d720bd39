// The address of a Unix socket: a path, a name of the system's own, or none.
#pragma once

#include <fairlead/io/address.hpp>

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::io {

/// Where a Unix socket is bound. A path is a file, with permissions. An abstract name is no file:
/// it is gone with its socket, and every process of the network namespace may connect to it.
class unix_address {
public:
    /// The longest path or abstract name, in bytes.
    static constexpr std::size_t size_max = 107;

    /// No name: that of a socket that was not bound. The system chooses an abstract one at a
    /// `bind`.
    unix_address() noexcept;
    /// That of a socket of the system. No name, if `from` is not the address of a Unix socket.
    explicit unix_address(const address& from) noexcept;

    /// A file. Errors: `filename_too_long`; `invalid_argument` if it is empty or has a null.
    [[nodiscard]] static std::expected<unix_address, std::error_code> path(
        std::string_view file) noexcept;
    /// A name without a file, of any bytes. Errors: `filename_too_long`; `invalid_argument` if it
    /// is empty.
    [[nodiscard]] static std::expected<unix_address, std::error_code> abstract(
        std::string_view name) noexcept;

    /// Whether it is a file.
    [[nodiscard]] bool is_path() const noexcept { return !name().empty() && !is_abstract(); }
    /// Whether it is an abstract name.
    [[nodiscard]] bool is_abstract() const noexcept;
    /// The path, or the abstract name; empty: no name. It is valid as long as this object.
    [[nodiscard]] std::string_view name() const noexcept;
    /// The path, or "@" and the abstract name.
    [[nodiscard]] std::string to_string() const;

    /// The address as a network takes it.
    [[nodiscard]] const address& as_address() const noexcept { return where_; }

    /// Whether both are the same name of the same kind.
    [[nodiscard]] bool operator==(const unix_address& other) const noexcept {
        return is_abstract() == other.is_abstract() && name() == other.name();
    }

private:
    address where_;
};

}  // namespace fairlead::io
