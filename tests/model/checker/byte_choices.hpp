// The choices of a search by bytes, which come in pairs: so many choices take the first way, which
// is to go on and to read the newest; then one takes another way, and the second byte says which.
// Behind the last pair all take the first. So few bytes are few deviations, however long the
// execution is.
//
// Source: delay bounding (M. Emmi, S. Qadeer, Z. Rakamaric, POPL 2011).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::model {

class byte_choices {
public:
    explicit byte_choices(std::span<const std::uint8_t> bytes) noexcept : bytes_{bytes} {}

    void restart() noexcept { position_ = first_ways_ = 0; }

    /// One of 0 ... count - 1, of two at least.
    [[nodiscard]] std::size_t next(std::size_t count) noexcept {
        if (position_ + 2 > bytes_.size()) return 0;
        if (first_ways_ != bytes_[position_]) {
            ++first_ways_;
            return 0;
        }
        const std::size_t other = bytes_[position_ + 1];
        position_ += 2;
        first_ways_ = 0;
        return 1 + other % (count - 1);
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t position_ = 0;
    std::size_t first_ways_ = 0;  // taken since the last pair
};

}  // namespace fairlead::model
