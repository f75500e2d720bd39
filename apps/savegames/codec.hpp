// Converts between a JSON text and a stored save: zstd compression and the XXH3 checksum.
//
// Any thread; no I/O. Making a context of zstd costs more than compressing a small save; so
// contexts are kept for later calls. There are as many as there were calls at once. Rejected: a
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

// XXH3, 64 bits, seed 0. The same value on every platform.
[[nodiscard]] std::uint64_t checksum(std::string_view text) noexcept;

// The checksum as headers and answers show it: 16 hexadecimal digits.
[[nodiscard]] std::string checksum_text(std::uint64_t value);

// Compresses `text` with zstd at `level`, 1 (fastest) to 19, and fills every field of the save but
// the version. Allocates the result. Fails with store_failed if memory is short.
[[nodiscard]] std::expected<save, failure> pack(std::string_view text, int level = 3);

// The JSON text of `stored`. Never writes more than `size_max` bytes, whatever the frame claims, so
// a decompression bomb does no harm. too_large: the recorded size exceeds the limit. corrupt: the
// frame is broken, or its size or checksum is not the recorded one.
[[nodiscard]] std::expected<std::string, failure> unpack(const save& stored, std::size_t size_max);

}  // namespace savegames
