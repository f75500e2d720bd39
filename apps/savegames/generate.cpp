#include "savegames/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace savegames {
namespace {

constexpr std::array<std::string_view, 16> item_names{
    "iron_sword", "oak_bow",      "healing_potion", "mana_potion",  "leather_armor", "steel_helmet",
    "torch",      "rope",         "silver_ring",    "map_fragment", "dragon_scale",  "arrow_bundle",
    "herb_blue",  "ancient_coin", "lockpick",       "spell_scroll"};
constexpr std::array<std::string_view, 5> rarities{"common", "uncommon", "rare", "epic",
                                                   "legendary"};
constexpr std::array<std::string_view, 8> enchantments{"fire",       "frost", "shock", "life_steal",
                                                       "durability", "speed", "luck",  "silence"};
constexpr std::array<std::string_view, 4> quest_states{"available", "active", "done", "failed"};
constexpr std::array<std::string_view, 12> words{"lost",   "king",    "river",  "tower",
                                                 "shadow", "harvest", "old",    "bridge",
                                                 "wolf",   "winter",  "secret", "gate"};
constexpr std::array<std::string_view, 6> biomes{"forest", "desert", "tundra",
                                                 "swamp",  "plains", "mountain"};

template <std::size_t Count>
std::string_view pick(const std::array<std::string_view, Count>& from, std::uint64_t index) {
    return from[index % Count];
}

// The arguments come in a tuple: a braced list is evaluated from left to right, but the arguments
// of a function in any order. The draws must not depend on the compiler.
template <class... Args>
void append(std::string& text, fmt::format_string<const Args&...> format,
            const std::tuple<Args...>& arguments) {
    std::apply(
        [&](const Args&... each) { fmt::format_to(std::back_inserter(text), format, each...); },
        arguments);
}

void trim_comma(std::string& text) {
    if (text.ends_with(',')) text.pop_back();
}

}  // namespace

std::uint64_t save_generator::below(std::uint64_t bound) { return random_() % bound; }

double save_generator::unit() {
    return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;  // never 0 or 1
}

// The Box-Muller method.
double save_generator::normal() {
    const double radius = std::sqrt(-2 * std::log(unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
}

std::size_t save_generator::draw_size(const size_distribution& sizes) {
    constexpr int attempts_max = 100;
    double size = sizes.median;
    for (int i = 0; i < attempts_max; ++i) {
        size = sizes.median * std::exp(sizes.sigma * normal());
        if (size >= static_cast<double>(sizes.size_min) &&
            size <= static_cast<double>(sizes.size_max)) {
            break;
        }
    }
    return std::clamp(static_cast<std::size_t>(size), sizes.size_min, sizes.size_max);
}

std::string save_generator::make_save(std::size_t size) {
    constexpr std::string_view inventory_begin = R"("inventory":[)";
    constexpr std::string_view quests_begin = R"(],"quests":{)";
    constexpr std::string_view world_begin = R"(},"world":{"seed":20240117,"chunks":{)";
    constexpr std::string_view end = "}}}";
    std::string text;
    text.reserve(size + 512);
    append_head(text);
    // A third of the rest is for items, a third for quests, and a third for chunks of the world.
    constexpr std::size_t frame = quests_begin.size() + world_begin.size() + end.size();
    const std::size_t used = text.size() + inventory_begin.size() + frame;
    const std::size_t third = size > used ? (size - used) / 3 : 0;
    text += inventory_begin;
    const std::size_t items_end = text.size() + third;
    while (text.size() < items_end) append_item(text);
    trim_comma(text);
    text += quests_begin;
    const std::size_t quests_end = items_end + quests_begin.size() + third;
    for (std::size_t number = 0; text.size() < quests_end; ++number) append_quest(text, number);
    trim_comma(text);
    text += world_begin;
    constexpr std::size_t half_chunk = 100;
    for (std::size_t number = 0; text.size() + end.size() + half_chunk < size; ++number) {
        append_chunk(text, number);
    }
    trim_comma(text);
    text += end;
    return text;
}

void save_generator::append_head(std::string& text) {
    append(text, R"({{"format":3,"build":"1.14.{}","saved_at":)", std::tuple{below(40)});
    append_time(text);
    append(text, R"(,"player":{{"name":"{}_{}{}","level":{},"xp":{},"gold":{},"guild":"{} {}"}},)",
           std::tuple{pick(words, random_()), pick(words, random_()), below(1000), below(80) + 1,
                      below(2'000'000), below(500'000), pick(words, random_()),
                      pick(words, random_())});
    append(text,
           R"("position":{{"map":"{}_{}","x":{:.2f},"y":{:.2f},"z":{:.2f},"heading":{:.1f}}},)",
           std::tuple{pick(biomes, random_()), below(30), unit() * 4096, unit() * 4096,
                      unit() * 256, unit() * 360});
    append(
        text,
        R"("stats":{{"health":{},"mana":{},"stamina":{},"deaths":{},"kills":{},"play_time_s":{},)"
        R"("distance_m":{:.1f},"crafted":{}}},)",
        std::tuple{below(1000), below(500), below(300), below(200), below(20'000), below(3'000'000),
                   unit() * 1e6, below(5000)});
    append(text,
           R"("settings":{{"difficulty":"{}","music":{:.2f},"effects":{:.2f},"subtitles":{},)"
           R"("language":"en","camera":"third_person","autosave_minutes":10}},)",
           std::tuple{below(2) != 0 ? "normal" : "hard", unit(), unit(), below(2) != 0});
}

void save_generator::append_item(std::string& text) {
    append(text,
           R"({{"item":"{}","rarity":"{}","count":{},"slot":{},"durability":{},"enchantments":[)",
           std::tuple{pick(item_names, random_()), pick(rarities, std::min(below(5), below(5))),
                      below(20) + 1, below(120), below(101)});
    for (std::uint64_t left = below(3); left > 0; --left) {
        append(text, R"({{"type":"{}","power":{}}},)",
               std::tuple{pick(enchantments, random_()), below(10) + 1});
    }
    trim_comma(text);
    text += "]},";
}

void save_generator::append_quest(std::string& text, std::size_t number) {
    append(text, R"("quest_{:04}":{{"title":"The {} {}","state":"{}","step":{},"started_at":)",
           std::tuple{number, pick(words, random_()), pick(words, random_()),
                      pick(quest_states, random_()), below(12)});
    append_time(text);
    append(text, R"(,"objectives":[{{"kind":"collect","target":"{}","have":{},"need":10}}]}},)",
           std::tuple{pick(item_names, random_()), below(11)});
}

void save_generator::append_chunk(std::string& text, std::size_t number) {
    append(text, R"("{},{}":{{"biome":"{}","explored":{},"loot_taken":{},"height":[)",
           std::tuple{number % 64, number / 64, pick(biomes, random_()), below(4) != 0,
                      below(2) != 0});
    std::uint64_t height = 40 + below(60);
    for (int i = 0; i < 24; ++i) {
        append(text, "{},", std::tuple{height});
        height = height + below(5) - 2;
    }
    trim_comma(text);
    append(text, R"(],"visited_ms":{}}},)", std::tuple{1'700'000'000'000 + below(31'536'000'000)});
}

void save_generator::append_time(std::string& text) {
    append(text, R"("2024-{:02}-{:02}T{:02}:{:02}:{:02}Z")",
           std::tuple{below(12) + 1, below(28) + 1, below(24), below(60), below(60)});
}

std::string save_generator::make_patch() {
    std::string text = R"({"saved_at":)";
    append_time(text);
    append(text, R"(,"player":{{"xp":{},"gold":{}}},)",
           std::tuple{below(2'000'000), below(500'000)});
    append(text, R"("position":{{"x":{:.2f},"y":{:.2f},"z":{:.2f},"heading":{:.1f}}},)",
           std::tuple{unit() * 4096, unit() * 4096, unit() * 256, unit() * 360});
    append(text, R"("stats":{{"health":{},"mana":{},"kills":{},"play_time_s":{}}})",
           std::tuple{below(1000), below(500), below(20'000), below(3'000'000)});
    if (below(2) != 0) {
        append(text, R"(,"quests":{{"quest_{:04}":{{"state":"{}","step":{}}}}})",
               std::tuple{below(4), pick(quest_states, random_()), below(12)});
    }
    if (below(4) == 0) text += R"(,"settings":{"camera":null,"difficulty":"hard"})";
    if (below(8) == 0) {
        append(text, R"(,"last_death":{{"cause":"{}","at":)", std::tuple{pick(words, random_())});
        append_time(text);
        text += "}";
    }
    text += "}";
    return text;
}

}  // namespace savegames
