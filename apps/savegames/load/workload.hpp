// The requests to send: which operation, for which player, with which body. The bodies are made
// before the start, so that a request costs next to nothing during the measurement.
//
// A workload is constant after construction: any thread. The caller passes the random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "savegames/load/options.hpp"

namespace savegames::load {

enum class operation_kind : std::uint8_t { put, get, update, erase };
inline constexpr std::size_t operation_kinds = 4;

// "put", "get", "update", "delete".
[[nodiscard]] const char* to_string(operation_kind kind) noexcept;

// A small, fast generator (SplitMix64), one for each connection.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}

    [[nodiscard]] std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    // In [0, bound). For the bounds used here, the bias of the remainder is below 2^-32.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

    // In [0, 1).
    [[nodiscard]] double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }

private:
    std::uint64_t state_;
};

// Draws players by Zipf's law: player i has the weight 1 / (i + 1)^skew.
class player_chooser {
public:
    player_chooser(std::size_t players, double skew);

    // The player for `unit`, a random number in [0, 1). O(log players).
    [[nodiscard]] std::size_t choose(double unit) const noexcept;

private:
    std::vector<double> cumulative_;  // the sum of the weights up to each player; the last is 1
};

struct pooled_save {
    std::string text;
    std::uint64_t checksum = 0;
};

struct request_plan {
    operation_kind kind = operation_kind::get;
    std::size_t player = 0;
    const std::string* body = nullptr;  // of a put or an update
    std::uint64_t checksum = 0;         // of the body of a put
};

class workload {
public:
    // Makes the pool, which takes some seconds if it is large.
    explicit workload(const load_options& options);

    [[nodiscard]] request_plan draw(random_source& random) const noexcept;

    // The put that stores the first save of `player`.
    [[nodiscard]] request_plan first_save(std::size_t player) const noexcept;

    // The path of the request, "/games/load-1/saves/player-17", with "/update" for an update.
    [[nodiscard]] std::string path(const request_plan& plan) const;

    [[nodiscard]] std::size_t players() const noexcept { return players_; }

private:
    [[nodiscard]] operation_kind draw_kind(random_source& random) const noexcept;

    operation_mix mix_;
    std::size_t players_;
    std::size_t games_;
    std::string game_;  // the game of all players; empty: they are dealt to games_ games
    player_chooser chooser_;
    std::vector<pooled_save> saves_;
    std::vector<std::string> patches_;
};

}  // namespace savegames::load
