// What a result has, or its error as an exception.
#pragma once

#include <expected>
#include <system_error>
#include <type_traits>
#include <utility>

namespace fairlead::test {

/// The value. Throws `std::system_error`.
template <class T>
T must(std::expected<T, std::error_code> result) {
    if (!result) throw std::system_error{result.error()};
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace fairlead::test
