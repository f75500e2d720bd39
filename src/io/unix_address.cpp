#include <fairlead/io/unix_address.hpp>

#include <sys/un.h>

#include <cstddef>
#include <cstring>

namespace fairlead::io {
namespace {

constexpr std::size_t name_begin = offsetof(sockaddr_un, sun_path);

// `name` behind a null byte, if it is abstract; it fits.
address made(std::string_view name, bool is_abstract) noexcept {
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    if (!name.empty()) std::memcpy(made.sun_path + (is_abstract ? 1 : 0), name.data(), name.size());
    // The null byte is before an abstract name, and behind a path.
    const std::size_t size = name.empty() ? 0 : name.size() + 1;
    return {reinterpret_cast<const sockaddr*>(&made), static_cast<socklen_t>(name_begin + size)};
}

std::error_code refused(std::string_view name) noexcept {
    if (name.empty()) return std::make_error_code(std::errc::invalid_argument);
    if (name.size() <= unix_address::size_max) return {};
    return std::make_error_code(std::errc::filename_too_long);
}

}  // namespace

unix_address::unix_address() noexcept : where_{made({}, false)} {}

unix_address::unix_address(const address& from) noexcept
    : where_{from.is_unix() ? from : made({}, false)} {}

std::expected<unix_address, std::error_code> unix_address::path(std::string_view file) noexcept {
    if (const std::error_code why = refused(file)) return std::unexpected{why};
    if (file.contains('\0')) {
        return std::unexpected{std::make_error_code(std::errc::invalid_argument)};
    }
    return unix_address{made(file, false)};
}

std::expected<unix_address, std::error_code> unix_address::abstract(
    std::string_view name) noexcept {
    if (const std::error_code why = refused(name)) return std::unexpected{why};
    return unix_address{made(name, true)};
}

bool unix_address::is_abstract() const noexcept {
    const auto* const bytes = reinterpret_cast<const char*>(where_.data());
    return where_.size() > name_begin + 1 && bytes[name_begin] == '\0';
}

std::string_view unix_address::name() const noexcept {
    if (where_.size() <= name_begin) return {};
    const std::string_view all{reinterpret_cast<const char*>(where_.data()) + name_begin,
                               where_.size() - name_begin};
    // Of a path, the system counts the null byte at its end, or does not.
    return is_abstract() ? all.substr(1) : all.substr(0, all.find('\0'));
}

std::string unix_address::to_string() const {
    return (is_abstract() ? "@" : "") + std::string{name()};
}

}  // namespace fairlead::io
