// The parser of Redis against bytes of any kind, in pieces.
//
// - Bytes come out as the same values and the same error, however they are cut.
// - What comes out is bounded by the bytes that went in.
// - A value that is printed is read again, and a command that is written is an array of its words.
#pragma once

#include "fuzz/input.hpp"
#include "redis/printed.hpp"

#include <fairlead/redis/command.hpp>
#include <fairlead/redis/parser.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::fuzz {

/// How much memory is in use; null: not measured.
using memory_meter = std::size_t (*)();

inline void redis_require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "redis_parser: %s\n", what);
    std::abort();
}

struct redis_outcome {
    std::vector<redis::value> values;
    std::error_code failure;

    bool operator==(const redis_outcome&) const = default;
};

inline constexpr redis::parser_limits small_limits{
    .bulk_max = 256, .reply_max = 1024, .items_max = 64, .depth_max = 4, .line_max = 64};

// Takes what is there; false: the parser has failed.
template <class Parser>
bool take_values(Parser& from, redis_outcome& into) {
    for (;;) {
        auto next = from.next();
        if (!next) {
            into.failure = next.error();
            return false;
        }
        if (!*next) return true;
        into.values.push_back(std::move(**next));
    }
}

template <class Parser>
redis_outcome parse_in_pieces(std::string_view bytes, redis::parser_limits limits,
                              std::size_t piece, memory_meter meter) {
    constexpr std::size_t fixed = 64UL << 10;
    constexpr std::size_t each_byte = 256;
    const std::size_t before = meter == nullptr ? 0 : meter();
    redis_outcome out;
    {
        Parser parser{limits};
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            parser.feed(bytes.substr(at, piece));
            if (!take_values(parser, out)) break;
            if (meter != nullptr) {
                redis_require(meter() <= before + fixed + each_byte * bytes.size(),
                              "it takes more memory than its input is worth");
            }
        }
    }
    return out;
}

inline redis::value drawn_value(input& from, int depth) {
    const auto line = [&] {
        std::string text{from.text(8)};
        for (char& c : text) c = static_cast<char>('a' + (static_cast<unsigned char>(c) % 26));
        return text;
    };
    const auto items = [&](std::size_t step) {
        std::vector<redis::value> all;
        const std::size_t count = from.below(4) * step;
        for (std::size_t i = 0; i != count; ++i) all.push_back(drawn_value(from, depth + 1));
        return all;
    };
    redis::value made;
    std::vector<redis::value> attributes;
    if (depth < 3 && from.below(8) == 7) attributes = items(2);
    switch (from.below(depth < 3 ? 12 : 9)) {
        case 0:
            break;
        case 1:
            made = redis::value{redis::kind::simple_string, line()};
            break;
        case 2:
            made = redis::value{redis::kind::error, std::string{from.text(20)}};
            break;
        case 3:
            made = redis::value{static_cast<std::int64_t>(from.number())};
            break;
        case 4:
            made = redis::value{redis::kind::bulk_string, std::string{from.text(40)}};
            break;
        case 5:
            made = redis::value{from.flag()};
            break;
        case 6:
            made = redis::value{static_cast<double>(from.number()) / 7};
            break;
        case 7:
            made = redis::value{redis::kind::big_number, std::to_string(from.number())};
            break;
        case 8:
            made = redis::value{redis::kind::verbatim, "txt:" + std::string{from.text(20)}};
            break;
        case 9:
            made = redis::value{redis::kind::array, items(1)};
            break;
        case 10:
            made = redis::value{redis::kind::map, items(2)};
            break;
        case 11:
            made = redis::value{redis::kind::set, items(1)};
            break;
        default:
            break;
    }
    made.set_attributes(std::move(attributes));
    return made;
}

template <class Parser>
void check_round_trip(input from) {
    const redis::value drawn = drawn_value(from, 0);
    const std::string bytes = redis::test::printed(drawn);
    const auto back = parse_in_pieces<Parser>(bytes, {}, 1 + from.below(9), nullptr);
    redis_require(!back.failure && back.values.size() == 1 && back.values[0] == drawn,
                  "a printed value is read as another");

    std::vector<std::string> words;
    redis::command command;
    do {
        words.emplace_back(from.text(30));
        command.add(words.back());
    } while (!from.empty());
    std::string written;
    command.write(written);
    const auto list = parse_in_pieces<Parser>(written, {}, 1 + words.size() % 7, nullptr);
    redis_require(
        !list.failure && list.values.size() == 1 && list.values[0].items().size() == words.size(),
        "a command is not an array of its words");
    for (std::size_t i = 0; i != words.size(); ++i) {
        redis_require(list.values[0].items()[i].text() == words[i], "a word has changed");
    }
    redis_require(command.name() == words[0], "a command has another name");
    static_cast<void>(command.is_shareable());
}

template <class Parser>
void check_redis_parser(input from, memory_meter meter = nullptr) {
    if (from.flag()) return check_round_trip<Parser>(from);
    const redis::parser_limits limits = from.flag() ? redis::parser_limits{} : small_limits;
    const std::size_t piece = 1 + from.below(16);
    const std::string_view bytes = from.rest();
    const auto whole = parse_in_pieces<Parser>(bytes, limits, bytes.size() + 1, meter);
    const auto pieces = parse_in_pieces<Parser>(bytes, limits, piece, meter);
    redis_require(whole == pieces, "the pieces decide what is read");
    std::string again;
    for (const redis::value& each : whole.values) again += redis::test::printed(each);
    const auto back = parse_in_pieces<Parser>(again, {}, again.size() + 1, nullptr);
    redis_require(!back.failure && back.values == whole.values, "what was read cannot be printed");
}

}  // namespace fairlead::fuzz
