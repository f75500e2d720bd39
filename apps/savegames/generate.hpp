// Realistic saves and patches for load generators and tests: JSON as games write it.
//
// Deterministic: the same seed gives the same texts with every compiler and standard library. So
// the distributions are written here: those of the standard differ between libraries. Sizes may
// differ if the mathematical library rounds otherwise. One thread at a time for each generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace savegames {

// Sizes of saves: log-normal, as file sizes are. Sizes outside [size_min, size_max] are redrawn.
struct size_distribution {
    std::size_t size_min = 1'000;
    std::size_t size_max = 2'000'000;
    double median = 30'000;
    double sigma = 1.2;  // of the logarithm: p10 is 6 KB, p90 is 140 KB, p99 is 490 KB
};

class save_generator {
public:
    explicit save_generator(std::uint64_t seed) : random_{seed} {}

    // Draws a size in bytes.
    [[nodiscard]] std::size_t draw_size(const size_distribution& sizes);

    // Makes a save of about `size` bytes: at most 300 more, at most 150 fewer, and never fewer than
    // about 900. It has player, position, stats, settings, inventory, quests and world. From about
    // 8 KB on, zstd makes it 3 to 8 times smaller.
    [[nodiscard]] std::string make_save(std::size_t size);

    // Makes a merge patch of 100 to 600 bytes for such saves: it moves the player, changes stats,
    // and sometimes advances a quest or deletes a field.
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
