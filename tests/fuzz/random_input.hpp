// Inputs like the first ones of a fuzzer, for the tests of the checks.
#pragma once

#include "fuzz/input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace fairlead::fuzz {

/// Runs `check` with random bytes.
template <class Check>
void run_with_random_bytes(Check&& check, int runs = 200) {
    std::mt19937 random{1};
    for (int run = 0; run != runs; ++run) {
        std::vector<std::uint8_t> bytes(random() % 300);
        for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
        check(input{bytes});
    }
}

/// Runs `check` with each file of `corpus`: as it is, and with a few bytes changed.
template <class Check>
void run_with_changed_corpus(const std::filesystem::path& corpus, Check&& check) {
    std::vector<std::filesystem::path> paths;
    for (const auto& each : std::filesystem::directory_iterator{corpus}) {
        paths.push_back(each.path());
    }
    std::ranges::sort(paths);
    std::mt19937 random{1};
    for (const std::filesystem::path& path : paths) {
        std::ifstream file{path, std::ios::binary};
        const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>{file}, {}};
        for (int run = 0; run != 50; ++run) {
            std::vector<std::uint8_t> changed = bytes;
            for (int i = 0; i != run / 10; ++i) {
                changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
            }
            check(input{changed});
        }
    }
}

}  // namespace fairlead::fuzz
