#include "dns/message.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fairlead::dns::detail {
namespace {

constexpr std::uint32_t type_soa = 6;

// Reads on from the front. After a read beyond the end it is broken, and each read gives 0.
class reader {
public:
    explicit reader(std::span<const unsigned char> message) noexcept : left_{message} {}

    [[nodiscard]] std::uint32_t number(std::size_t size) noexcept {
        std::uint32_t value = 0;
        for (const unsigned char each : take(size)) value = value << 8U | each;
        return value;
    }
    // A name, which ends with an empty label or with a pointer.
    void skip_name() noexcept {
        while (!is_broken_) {
            const std::uint32_t length = number(1);
            if (length == 0) return;
            if (length >= 0xc0) return static_cast<void>(number(1));
            if (length > 63) is_broken_ = true;
            static_cast<void>(take(length));
        }
    }
    [[nodiscard]] std::span<const unsigned char> take(std::size_t size) noexcept {
        if (is_broken_ || size > left_.size()) {
            is_broken_ = true;
            return {};
        }
        const auto taken = left_.first(size);
        left_ = left_.subspan(size);
        return taken;
    }
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

private:
    std::span<const unsigned char> left_;
    bool is_broken_ = false;
};

// The TTL of a record, and its minimum field if it is an SOA.
struct record {
    std::uint32_t type;
    std::uint32_t ttl;
    std::uint32_t minimum;
};

record next_record(reader& from) noexcept {
    from.skip_name();
    record read{.type = from.number(2), .ttl = 0, .minimum = 0};
    static_cast<void>(from.number(2));  // the class
    read.ttl = from.number(4);
    const std::uint32_t size = from.number(2);
    const std::span<const unsigned char> data = from.take(size);
    // Two names, and five numbers, of which the last is the minimum.
    if (read.type == type_soa && data.size() >= 22) read.minimum = reader{data.last(4)}.number(4);
    return read;
}

}  // namespace

std::optional<duration> negative_ttl(std::span<const unsigned char> message) noexcept {
    reader from{message};
    static_cast<void>(from.number(4));  // the identifier and the flags
    const std::uint32_t questions = from.number(2);
    const std::uint32_t answers = from.number(2);
    const std::uint32_t authorities = from.number(2);
    static_cast<void>(from.number(2));
    for (std::uint32_t i = 0; i != questions && !from.is_broken(); ++i) {
        from.skip_name();
        static_cast<void>(from.number(4));
    }
    for (std::uint32_t i = 0; i != answers && !from.is_broken(); ++i) {
        static_cast<void>(next_record(from));
    }
    for (std::uint32_t i = 0; i != authorities; ++i) {
        const record read = next_record(from);
        if (from.is_broken()) break;
        if (read.type == type_soa) return std::chrono::seconds{std::min(read.ttl, read.minimum)};
    }
    return std::nullopt;
}

}  // namespace fairlead::dns::detail
