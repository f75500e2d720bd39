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

// Counts depth and values without a parser. It agrees with the parser for every prefix of `text`
// that is valid JSON. The parser stops where that prefix ends, so the count of the rest does not
// matter.
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
                    return fail(error::bad_request,
                                fmt::format("the JSON text nests deeper than the limit of {} "
                                            "objects and arrays",
                                            limits.depth_max));
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
                    fmt::format("the JSON text counts as {} values, the limit is {}", values,
                                limits.values_max));
    }
    return {};
}

// The parser takes a null character for the end of the text. No JSON text has one.
bool seems_shorter(std::string_view text) { return text.contains('\0'); }

// Empties a container, so that its destructor allocates nothing. The destructor of a full container
// allocates, and ends the process if there is no memory. Recurses: no tree here is deeper than
// depth_max.
void empty(json& tree) noexcept {
    if (tree.is_object()) {
        for (auto& [name, value] : tree.get_ref<json::object_t&>()) empty(value);
        tree.get_ref<json::object_t&>().clear();
    } else if (tree.is_array()) {
        for (json& value : tree.get_ref<json::array_t&>()) empty(value);
        tree.get_ref<json::array_t&>().clear();
    }
}

// A tree, perhaps half built, whose destructor needs no memory.
struct json_tree {
    json_tree() = default;
    json_tree(json_tree&& other) noexcept { root.swap(other.root); }
    json_tree& operator=(json_tree&&) = delete;
    ~json_tree() { empty(root); }

    json root;
};

std::expected<json_tree, failure> parse(std::string_view text, const json_limits& limits,
                                        error if_broken) {
    if (auto shape = check_shape(text, limits); !shape) return std::unexpected(shape.error());
    json_tree tree;
    nlohmann::detail::json_sax_dom_parser<json> builder{tree.root, /*allow_exceptions_=*/false};
    const bool good = json::sax_parse(text.begin(), text.end(), &builder);
    if (!good || seems_shorter(text)) {
        return fail(if_broken, if_broken == error::corrupt ? "the stored save is not JSON"
                                                           : "the patch is not JSON");
    }
    return tree;
}

// RFC 7396, section 2. Takes `changes` apart, so that nothing is copied. Recurses as deep as
// `changes`.
void merge(json& target, json& changes) {
    if (!changes.is_object()) {
        target.swap(changes);
        return;
    }
    if (!target.is_object()) {
        empty(target);
        target = json::object();
    }
    auto& members = target.get_ref<json::object_t&>();
    for (auto& [name, change] : changes.get_ref<json::object_t&>()) {
        if (!change.is_null()) {
            merge(members[name], change);
        } else if (const auto found = members.find(name); found != members.end()) {
            empty(found->second);
            members.erase(found);
        }
    }
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
        merge(tree->root, changes->root);
        std::string result = tree->root.dump();
        if (auto shape = check_shape(result, limits); !shape) return std::unexpected(shape.error());
        return result;
    } catch (const std::exception& caught) {  // in practice std::bad_alloc
        return fail(error::store_failed, caught.what());
    }
}

}  // namespace savegames
