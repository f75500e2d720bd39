// JSON checks and RFC 7396 merge patches, safe against hostile input.
//
// Any thread; no state. The JSON library recurses when it copies, merges and prints. So a text that
// nests deeper than `depth_max` is refused before the library sees it.
//
// Integers that fit in 64 bits are kept exactly. Other numbers become doubles; a patched save
// prints each as the shortest text that reads back as the same double.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "savegames/model.hpp"

namespace savegames {

struct json_limits {
    std::size_t size_max = std::size_t{4} << 20;  // bytes of text
    std::size_t depth_max = 64;                   // nested objects and arrays
    std::size_t values_max = 1'000'000;           // each takes about 100 bytes when parsed
};

// Nothing if `text` is one JSON value within the limits; else bad_request or too_large. Builds no
// tree, and allocates only for the message.
[[nodiscard]] std::expected<void, failure> check_json(std::string_view text,
                                                      const json_limits& limits);

// Applies the merge patch to `document`, and prints the result without spaces, with sorted keys.
// bad_request if `patch` is not JSON; corrupt if `document` is not JSON; too_large if a text or the
// result exceeds the limits. Allocates both trees and the result.
[[nodiscard]] std::expected<std::string, failure> apply_merge_patch(std::string_view document,
                                                                    std::string_view patch,
                                                                    const json_limits& limits);

}  // namespace savegames
