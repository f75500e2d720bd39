#include "savegames/patch.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace savegames {
namespace {

using nlohmann::json;

std::unexpected<failure> fail(error code, std::string message) {
    return std::unexpected(failure{code, std::move(message)});
}

// Counts depth and values without a parser. For the prefix of `text` that is valid JSON it agrees
// with the parser, and the parser stops where that prefix ends; so what it says of the rest of a
// broken text does not matter.
std::expected<void, failure> check_shape(std::string_view text, const json_limits& limits) {
    if (text.size() > limits.size_max) {
        return fail(error::too_large, fmt::format("the JSON text has {} bytes, the limit is {}",
                                                  text.size(), limits.size_max));
    }
    std::size_t depth = 0;
    std::size_t values = 1;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                quoted = false;
            }
            continue;
        }
        switch (c) {
            case '"':
                quoted = true;
                break;
            case '{':
            case '[':
                ++values;
                if (++depth > limits.depth_max) {
                    return fail(
                        error::bad_request,
                        fmt::format("the JSON text nests deeper than {}", limits.depth_max));
                }
                break;
            case '}':
            case ']':
                depth -= depth > 0 ? 1 : 0;
                break;
            case ',':
                ++values;
                break;
            default:
                break;
        }
    }
    if (values > limits.values_max) {
        return fail(error::too_large,
                    fmt::format("the JSON text has more than {} values", limits.values_max));
    }
    return {};
}

// The parser takes a null character, which no JSON text has, for the end of the text.
bool seems_shorter(std::string_view text) { return text.contains('\0'); }

std::expected<json, failure> parse(std::string_view text, const json_limits& limits,
                                   error if_broken) {
    if (auto shape = check_shape(text, limits); !shape) return std::unexpected(shape.error());
    json tree = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (tree.is_discarded() || seems_shorter(text)) return fail(if_broken, "the text is not JSON");
    return tree;
}

}  // namespace

std::expected<void, failure> check_json(std::string_view text, const json_limits& limits) {
    if (auto shape = check_shape(text, limits); !shape) return shape;
    try {
        if (seems_shorter(text) || !json::accept(text.begin(), text.end())) {
            return fail(error::bad_request, "the text is not JSON");
        }
    } catch (const std::exception& caught) {
        return fail(error::store_failed, caught.what());
    }
    return {};
}

std::expected<std::string, failure> apply_merge_patch(std::string_view document,
                                                      std::string_view patch,
                                                      const json_limits& limits) {
    try {
        auto changes = parse(patch, limits, error::bad_request);
        if (!changes) return std::unexpected(std::move(changes.error()));
        auto tree = parse(document, limits, error::corrupt);
        if (!tree) return std::unexpected(std::move(tree.error()));
        tree->merge_patch(*changes);
        std::string result = tree->dump();
        if (auto shape = check_shape(result, limits); !shape) return std::unexpected(shape.error());
        return result;
    } catch (const std::exception& caught) {  // memory, in practice
        return fail(error::store_failed, caught.what());
    }
}

}  // namespace savegames
