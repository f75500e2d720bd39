#include <fairlead/redis/script.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace fairlead::redis {
namespace {

using words = std::array<std::uint32_t, 5>;

void add_block(words& hash, std::string_view block) noexcept {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i != 64; ++i) {
        w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
    }
    for (std::size_t i = 16; i != 80; ++i) {
        w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    auto [a, b, c, d, e] = hash;
    for (std::size_t i = 0; i != 80; ++i) {
        std::uint32_t f = (b & c) | (~b & d);
        std::uint32_t k = 0x5a827999;
        if (i >= 60) {
            f = b ^ c ^ d;
            k = 0xca62c1d6;
        } else if (i >= 40) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdc;
        } else if (i >= 20) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1;
        }
        const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    const words sum{a, b, c, d, e};
    for (std::size_t i = 0; i != sum.size(); ++i) hash[i] += sum[i];
}

// FIPS 180-4. The server names scripts by it; nothing depends on its strength.
[[nodiscard]] std::string sha1(std::string_view text) {
    words hash{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    std::string_view left = text;
    for (; left.size() >= 64; left.remove_prefix(64)) add_block(hash, left.substr(0, 64));
    std::string last{left};
    last += '\x80';
    while (last.size() % 64 != 56) last += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) {
        last += static_cast<char>(std::uint64_t{text.size()} * 8 >> shift & 0xff);
    }
    for (std::size_t at = 0; at != last.size(); at += 64) {
        add_block(hash, std::string_view{last}.substr(at, 64));
    }
    std::string digits;
    for (const std::uint32_t word : hash) {
        for (int shift = 28; shift >= 0; shift -= 4)
            digits += "0123456789abcdef"[word >> shift & 15];
    }
    return digits;
}

}  // namespace

script::script(std::string text) : text_{std::move(text)}, sha_{sha1(text_)} {}

}  // namespace fairlead::redis
