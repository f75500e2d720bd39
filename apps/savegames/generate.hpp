// Realistic saves and patches for load generators and tests: JSON as games write it.
//
// Deterministic: the same seed gives the same texts with every compiler and library
// (std::mt19937_64 and own distributions: the standard's differ between libraries). Sizes may
// differ where the mathematical library rounds otherwise. One thread at a time for each generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace savegames {

// Sizes of saves: log-normal, as file sizes are, cut to [size_min, size_max] by drawing again.
struct size_distribution {
    std::size_t size_min = 1'000;
    std::size_t size_max = 2'000'000;
    double median = 30'000;
    double sigma = 1.2;  // of the logarithm: p10 is 6 KB, p90 140 KB, p99 490 KB
};

class save_generator {
public:
    explicit save_generator(std::uint64_t seed) : random_{seed} {}

    // A size in bytes.
    [[nodiscard]] std::size_t draw_size(const size_distribution& sizes);

    // A save of about `size` bytes, at least some 900: never more than 300 over, and 150 short of
    // it. It has player, position, stats, settings, inventory, quests, world; zstd makes it 3 to 8
    // times smaller from some 8 KB on.
    [[nodiscard]] std::string make_save(std::size_t size);

    // A merge patch of 100 to 600 bytes that fits the saves above: it moves the player, changes
    // stats, advances a quest, sometimes deletes a field.
    [[nodiscard]] std::string make_patch();

private:
    [[nodiscard]] std::uint64_t below(std::uint64_t bound);
    [[nodiscard]] double unit();
    [[nodiscard]] double normal();
    void append_head(std::string& text);
    void append_item(std::string& text);
    void append_quest(std::string& text, std::size_t number);
    void append_chunk(std::string& text, std::size_t number);
    void append_time(std::string& text);

    std::mt19937_64 random_;
};

}  // namespace savegames
