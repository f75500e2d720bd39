// The choices of a search by bytes. Bytes come in pairs. The first byte is a number of choices that
// take the first way: to go on, and to read the newest store. The next choice takes another way,
// which the second byte selects. After the last pair all choices take the first way. So few bytes
// mean few deviations, however long the execution is.
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

    /// A number of 0 ... count - 1. `count` is at least 2.
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
