// A script in Lua, which the server knows by its hash.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <string>
#include <string_view>

namespace fairlead::redis {

/// Made once, used by any thread.
class script {
public:
    /// Computes the hash. Throws `std::bad_alloc`.
    explicit script(std::string text);

    /// The script.
    [[nodiscard]] std::string_view text() const noexcept { return text_; }
    /// The name by which EVALSHA calls it: SHA-1 in 40 hexadecimal digits.
    [[nodiscard]] std::string_view sha() const noexcept { return sha_; }

private:
    std::string text_;
    std::string sha_;
};

}  // namespace fairlead::redis
