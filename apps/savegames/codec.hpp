// JSON text <-> stored save: zstd compression and the XXH3 checksum.
//
// Pure CPU work, any thread. The contexts of zstd are kept for the next call, because making one
// costs more than compressing a small save: as many as there were calls at once. Rejected: a
// thread_local context. Its destructor is registered at the first use in each thread, and glibc
// ends the process if there is no memory for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "savegames/model.hpp"

namespace savegames {

// XXH3, 64 bits, seed 0. The same on every platform.
[[nodiscard]] std::uint64_t checksum(std::string_view text) noexcept;

// The checksum as it is written in headers and answers: 16 hexadecimal digits.
[[nodiscard]] std::string checksum_text(std::uint64_t value);

// Compresses `text` with zstd at `level` (1 fastest .. 19) and fills everything of the save but
// the version. Allocates the result. Fails with store_failed when memory is short.
[[nodiscard]] std::expected<save, failure> pack(std::string_view text, int level = 3);

// The JSON text of `stored`. Never writes more than `size_max` bytes, whatever the frame claims:
// a decompression bomb costs nothing. too_large over the limit; corrupt when the frame is broken,
// or its size or checksum is not the recorded one.
[[nodiscard]] std::expected<std::string, failure> unpack(const save& stored, std::size_t size_max);

}  // namespace savegames
