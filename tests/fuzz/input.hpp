// The bytes of a fuzzer, taken as choices. When they are used up every choice is 0, so that each
// loop of a target ends with its input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace fairlead::fuzz {

class input {
public:
    explicit input(std::span<const std::uint8_t> bytes) noexcept : left_{bytes} {}

    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }

    std::uint8_t byte() noexcept {
        if (left_.empty()) return 0;
        const std::uint8_t taken = left_.front();
        left_ = left_.subspan(1);
        return taken;
    }

    bool flag() noexcept { return (byte() & 1) != 0; }

    /// A number of 0 ... bound - 1, from as few bytes as `bound` needs.
    std::size_t below(std::size_t bound) noexcept {
        std::uint64_t drawn = byte();
        for (std::size_t reach = 256; reach < bound; reach *= 256) drawn = drawn << 8 | byte();
        return static_cast<std::size_t>(drawn % bound);
    }

    std::uint64_t number() noexcept {
        std::uint64_t drawn = 0;
        for (int i = 0; i != 8; ++i) drawn = drawn << 8 | byte();
        return drawn;
    }

    /// The next bytes as text, at most `size_max`. One or two bytes in front give the size.
    std::string_view text(std::size_t size_max) noexcept { return take(below(size_max + 1)); }

    /// All remaining bytes.
    std::span<const std::uint8_t> rest_as_bytes() noexcept { return std::exchange(left_, {}); }

    /// All remaining bytes, as text.
    std::string_view rest() noexcept { return take(left_.size()); }

private:
    std::string_view take(std::size_t wanted) noexcept {
        const std::size_t size = std::min(wanted, left_.size());
        const std::string_view taken{reinterpret_cast<const char*>(left_.data()), size};
        left_ = left_.subspan(size);
        return taken;
    }

    std::span<const std::uint8_t> left_;
};

}  // namespace fairlead::fuzz
