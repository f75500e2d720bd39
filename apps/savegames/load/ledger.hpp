// What the service has acknowledged, and so must show from now on.
//
// For each player it keeps the least version that a later answer may show, the last acknowledged
// write, and whether the save must exist. A request takes a `glimpse` before it is sent; its answer
// is checked against that, because requests of other connections go on meanwhile:
//
// 1. A read shows a version not below the floor of its glimpse: what was acknowledged before the
//    read began is there, or something newer.
// 2. A read of the last acknowledged version has the acknowledged checksum.
// 3. A write gets a version above the floor of its glimpse, and no version is given twice.
// 4. A save is absent only if a delete may have hit it: one that began since the glimpse, or that
//    was under way, or whose outcome is unknown, or that no acknowledged write is known to follow.
//    A write is known to follow when no delete overlapped it.
// 5. An acknowledged delete raises the floor: what was there before it must not come back.
//
// Thread-safe: players are dealt to mutexes, each held for a few instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <string>
#include <vector>

namespace savegames::load {

class ledger {
public:
    struct glimpse {
        std::uint64_t floor = 0;
        std::uint32_t deletes_begun = 0;  // own delete not counted
        bool delete_under_way = false;
        bool must_exist = false;
    };

    explicit ledger(std::size_t players) : entries_(players) {}

    // Before the request is sent.
    [[nodiscard]] glimpse begin(std::size_t player);
    [[nodiscard]] glimpse begin_delete(std::size_t player);

    // When an answer has come. The result says what is wrong with it; empty: nothing.
    [[nodiscard]] std::string saw(std::size_t player, const glimpse& before, std::uint64_t version,
                                  std::uint64_t checksum);
    [[nodiscard]] std::string wrote(std::size_t player, const glimpse& before,
                                    std::uint64_t version, std::uint64_t checksum);
    [[nodiscard]] std::string absent(std::size_t player, const glimpse& before);

    // The end of a delete. One whose outcome is unknown (no answer, 503, 504) does not end: it may
    // take effect any time.
    void deleted(std::size_t player, const glimpse& before);
    [[nodiscard]] std::string delete_found_nothing(std::size_t player, const glimpse& before);
    void delete_refused(std::size_t player);

    // Whether anything was acknowledged for `player`.
    [[nodiscard]] bool knows(std::size_t player);

    // A text file, one line for each known player. Not while requests go on. The error is a
    // sentence. `load` of a file that is not there leaves the ledger empty.
    [[nodiscard]] std::expected<void, std::string> load(const std::string& path);
    [[nodiscard]] std::expected<void, std::string> store(const std::string& path) const;

private:
    struct entry {
        std::uint64_t floor = 0;
        std::uint64_t version = 0;   // of the last acknowledged write; 0: none
        std::uint64_t checksum = 0;  // of that
        std::uint32_t deletes_begun = 0;
        std::uint32_t deletes_open = 0;
        bool must_exist = false;
    };

    [[nodiscard]] std::mutex& guard(std::size_t player) {
        return mutexes_[player % mutexes_.size()];
    }
    [[nodiscard]] static std::string check_absence(const entry& now, const glimpse& before,
                                                   std::uint32_t own_deletes);

    std::vector<entry> entries_;
    std::array<std::mutex, 64> mutexes_;
};

}  // namespace savegames::load
