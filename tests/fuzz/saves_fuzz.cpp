// What the save-game service does with bytes of strangers and of its disk.
//
//   packing    any text comes back as it was; a record that was changed comes back as an error or unchanged;
//              one that is garbage costs no more memory than its limit, and never gives a text that does not
//              match its checksum
//   checking   a text is accepted if the JSON library accepts it, and its depth and number of values, counted
//              while parsing, are within the limits
//   patching   the result is that of the pseudo-code of RFC 7396, within the limits; patching twice is
//              patching once
#include "fuzz/input.hpp"

#include <fairlead/base/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "savegames/codec.hpp"
#include "savegames/patch.hpp"

namespace fairlead::fuzz {
namespace {

using nlohmann::json;
using savegames::error;
using savegames::save;

constexpr std::size_t text_max = 1024;
constexpr savegames::json_limits limits{.size_max = 512, .depth_max = 6, .values_max = 40};

// --- packing ----------------------------------------------------------------------------------------

void check_packing(input& bytes) {
    const int level = 1 + static_cast<int>(bytes.below(4));
    const std::size_t repeat = 1 + bytes.below(16);
    const std::size_t place = bytes.below(4096);
    const std::uint8_t change = bytes.byte();
    const std::uint64_t other = bytes.number();
    std::string text;
    const std::string_view once = bytes.rest();
    for (std::size_t i = 0; i != repeat; ++i) text += once;

    const auto packed = savegames::pack(text, level);
    FAIRLEAD_ASSERT(packed.has_value(), "there is enough memory");
    const auto unpacked = savegames::unpack(*packed, text.size());
    FAIRLEAD_ASSERT(unpacked && *unpacked == text, "a text comes back");
    if (!text.empty()) {
        const auto refused = savegames::unpack(*packed, text.size() - 1);
        FAIRLEAD_ASSERT(!refused && refused.error().code == error::too_large,
                        "but not over a limit");
    }

    save changed = *packed;
    char& byte = changed.data[place % changed.data.size()];
    byte = static_cast<char>(byte ^ change);
    const auto tolerated = savegames::unpack(changed, text.size());
    FAIRLEAD_ASSERT(!tolerated || *tolerated == text, "no changed text comes back");
    for (std::uint64_t save::*const field : {&save::checksum, &save::size}) {
        changed = *packed;
        changed.*field = other;
        const auto accepted = savegames::unpack(changed, text_max);
        FAIRLEAD_ASSERT(!accepted || other == (*packed).*field, "checksum and size are compared");
    }
}

void check_garbage(input& bytes) {
    save record{.version = bytes.byte(), .checksum = bytes.number(), .size = 0, .data = {}};
    record.size = bytes.flag() ? bytes.number() : bytes.below(2 * text_max);
    record.data = bytes.rest();
    const auto text = savegames::unpack(record, text_max);
    if (text) {
        FAIRLEAD_ASSERT(text->size() == record.size, "the size is the recorded one");
        FAIRLEAD_ASSERT(savegames::checksum(*text) == record.checksum, "and so is the checksum");
        return;
    }
    const error expected = record.size > text_max ? error::too_large : error::corrupt;
    FAIRLEAD_ASSERT(text.error().code == expected, "the error says what is wrong");
}

// --- checking ---------------------------------------------------------------------------------------

// What the parser meets.
class counted final : public nlohmann::json_sax<json> {
public:
    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool start_object(std::size_t) override { return begin(); }
    bool key(string_t&) override { return true; }
    bool end_object() override { return end(); }
    bool start_array(std::size_t) override { return begin(); }
    bool end_array() override { return end(); }
    bool parse_error(std::size_t, const std::string&, const json::exception&) override {
        return false;
    }

    std::size_t values = 0;
    std::size_t deepest = 0;

private:
    bool value() {
        ++values;
        return true;
    }
    bool begin() {
        deepest = std::max(deepest, ++depth_);
        return value();
    }
    bool end() {
        --depth_;
        return true;
    }

    std::size_t depth_ = 0;
};

void check_json(std::string_view text) {
    const auto checked = savegames::check_json(text, limits);
    if (text.size() > limits.size_max) {
        FAIRLEAD_ASSERT(!checked && checked.error().code == error::too_large, "it is too long");
        return;
    }
    counted seen;
    // The library takes a null character for the end of the text.
    const bool is_json = !text.contains('\0') && json::sax_parse(text, &seen);
    const bool within = seen.deepest <= limits.depth_max && seen.values <= limits.values_max;
    FAIRLEAD_ASSERT(!checked || (is_json && within), "what is accepted is JSON within limits");
    // The count is by commas and brackets, so an empty bracket may count as two.
    const bool well_within = within && 2 * seen.values + 1 <= limits.values_max;
    FAIRLEAD_ASSERT(checked || !(is_json && well_within), "JSON within limits is accepted");
    if (!checked && is_json && seen.deepest > limits.depth_max) {
        FAIRLEAD_ASSERT(checked.error().code == error::bad_request, "too deep is a bad request");
    }
}

// --- patching ---------------------------------------------------------------------------------------

// MergePatch of RFC 7396, section 2.
json merge(json target, const json& patch) {
    if (!patch.is_object()) return patch;
    if (!target.is_object()) target = json::object();
    for (const auto& [name, value] : patch.items()) {
        if (value.is_null()) {
            target.erase(name);
        } else {
            target[name] = merge(target.contains(name) ? target[name] : json{}, value);
        }
    }
    return target;
}

void check_patch(std::string_view document, std::string_view patch) {
    const auto result = savegames::apply_merge_patch(document, patch, limits);
    const bool good_patch = savegames::check_json(patch, limits).has_value();
    const bool good_document = savegames::check_json(document, limits).has_value();
    if (!result) {
        const error code = result.error().code;
        const bool told =
            code == error::bad_request || code == error::corrupt || code == error::too_large;
        FAIRLEAD_ASSERT(told, "the error says what is wrong");
        FAIRLEAD_ASSERT(good_patch || code != error::corrupt, "the patch is looked at first");
        return;
    }
    FAIRLEAD_ASSERT(good_patch && good_document, "only JSON within limits is patched");
    const json merged = json::parse(*result);
    FAIRLEAD_ASSERT(merged == merge(json::parse(document), json::parse(patch)),
                    "as the RFC has it");
    FAIRLEAD_ASSERT(savegames::check_json(*result, limits), "the result is within the limits");
    const auto again = savegames::apply_merge_patch(*result, patch, limits);
    FAIRLEAD_ASSERT(again && *again == *result, "patching twice is patching once");
}

}  // namespace
}  // namespace fairlead::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    input bytes{{data, size}};
    switch (bytes.below(4)) {
        case 0:
            check_packing(bytes);
            break;
        case 1:
            check_garbage(bytes);
            break;
        case 2:
            check_json(bytes.rest());
            break;
        default: {
            const std::string_view text = bytes.rest();
            const std::size_t between = std::min(text.find('\n'), text.size());
            check_patch(text.substr(0, between), text.substr(std::min(between + 1, text.size())));
            break;
        }
    }
    return 0;
}
