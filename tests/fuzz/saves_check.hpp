// How the save-game service handles bytes from clients and from its disk.
//
//   packing    any text comes back as it was; a record that was changed comes back as an error or
//              unchanged; garbage costs no more memory than its limit, and never gives a text that
//              does not match its checksum
//   checking   a text is accepted if the JSON library accepts it, and its depth and number of
//              values, counted while parsing, are within the limits
//   patching   the result is that of the pseudo-code of RFC 7396, within the saves_limits; patching
//              twice is patching once
#pragma once

#include "fuzz/input.hpp"

#include <fairlead/detail/base/assert.hpp>

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

using nlohmann::json;
using savegames::error;
using savegames::save;

inline constexpr std::size_t text_max = 1024;
inline constexpr savegames::json_limits saves_limits{
    .size_max = 512, .depth_max = 6, .values_max = 40};

// The code that is checked.
struct saves_code {
    static auto unpack(const save& record, std::size_t size_max) {
        return savegames::unpack(record, size_max);
    }
    static auto check_json(std::string_view text) {
        return savegames::check_json(text, saves_limits);
    }
    static auto apply_merge_patch(std::string_view document, std::string_view patch) {
        return savegames::apply_merge_patch(document, patch, saves_limits);
    }
};

// --- packing -------------------------------------------------------------------------------------

template <class Code>
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
    const auto unpacked = Code::unpack(*packed, text.size());
    FAIRLEAD_ASSERT(unpacked && *unpacked == text, "a text comes back");
    if (!text.empty()) {
        const auto refused = Code::unpack(*packed, text.size() - 1);
        FAIRLEAD_ASSERT(!refused && refused.error().code == error::too_large,
                        "but not over a limit");
    }

    save changed = *packed;
    char& byte = changed.data[place % changed.data.size()];
    byte = static_cast<char>(byte ^ change);
    const auto tolerated = Code::unpack(changed, text.size());
    FAIRLEAD_ASSERT(!tolerated || *tolerated == text, "no changed text comes back");
    for (std::uint64_t save::*const field : {&save::checksum, &save::size}) {
        changed = *packed;
        changed.*field = other;
        const auto accepted = Code::unpack(changed, text_max);
        FAIRLEAD_ASSERT(!accepted || other == (*packed).*field, "checksum and size are compared");
    }
}

template <class Code>
void check_garbage(input& bytes) {
    save record{.version = bytes.byte(), .checksum = bytes.number(), .size = 0, .data = {}};
    record.size = bytes.flag() ? bytes.number() : bytes.below(2 * text_max);
    record.data = bytes.rest();
    const auto text = Code::unpack(record, text_max);
    if (text) {
        FAIRLEAD_ASSERT(text->size() == record.size, "the size is the recorded one");
        FAIRLEAD_ASSERT(savegames::checksum(*text) == record.checksum, "and so is the checksum");
        return;
    }
    const error expected = record.size > text_max ? error::too_large : error::corrupt;
    FAIRLEAD_ASSERT(text.error().code == expected, "the error says what is wrong");
}

// --- checking ------------------------------------------------------------------------------------

// Counts the values and the depth that the parser meets.
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

template <class Code>
void check_json(std::string_view text) {
    const auto checked = Code::check_json(text);
    if (text.size() > saves_limits.size_max) {
        FAIRLEAD_ASSERT(!checked && checked.error().code == error::too_large, "it is too long");
        return;
    }
    counted seen;
    // The library takes a null character for the end of the text.
    const bool is_json = !text.contains('\0') && json::sax_parse(text, &seen);
    const bool within =
        seen.deepest <= saves_limits.depth_max && seen.values <= saves_limits.values_max;
    FAIRLEAD_ASSERT(!checked || (is_json && within), "what is accepted is JSON within limits");
    // The count is by commas and brackets, so an empty bracket may count as two.
    const bool well_within = within && 2 * seen.values + 1 <= saves_limits.values_max;
    FAIRLEAD_ASSERT(checked || !(is_json && well_within), "JSON within limits is accepted");
    if (!checked && is_json && seen.deepest > saves_limits.depth_max) {
        FAIRLEAD_ASSERT(checked.error().code == error::bad_request, "too deep is a bad request");
    }
}

// --- patching ------------------------------------------------------------------------------------

// MergePatch of RFC 7396, section 2.
inline json merge(json target, const json& patch) {
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

template <class Code>
void check_patch(std::string_view document, std::string_view patch) {
    const auto result = Code::apply_merge_patch(document, patch);
    const bool good_patch = Code::check_json(patch).has_value();
    const bool good_document = Code::check_json(document).has_value();
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
    FAIRLEAD_ASSERT(Code::check_json(*result), "the result is within the limits");
    const auto again = Code::apply_merge_patch(*result, patch);
    FAIRLEAD_ASSERT(again && *again == *result, "patching twice is patching once");
}

// --- all of them ---------------------------------------------------------------------------------

template <class Code>
void check_saves(input bytes) {
    switch (bytes.below(4)) {
        case 0:
            check_packing<Code>(bytes);
            break;
        case 1:
            check_garbage<Code>(bytes);
            break;
        case 2:
            check_json<Code>(bytes.rest());
            break;
        default: {
            const std::string_view text = bytes.rest();
            const std::size_t between = std::min(text.find('\n'), text.size());
            check_patch<Code>(text.substr(0, between),
                              text.substr(std::min(between + 1, text.size())));
            break;
        }
    }
}

}  // namespace fairlead::fuzz
