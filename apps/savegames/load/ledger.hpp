// What the service has acknowledged, and must show from then on.
//
// For each player the ledger keeps the floor (the least version that a later answer may show), the
// latest acknowledged write, and whether the save must exist. A request takes a `glimpse` before it
// is sent, and its answer is checked against the glimpse, because requests of other connections go
// on meanwhile:
//
// 1. A read shows at least the floor of its glimpse: what was acknowledged before the read began,
//    or something newer.
// 2. A read of the latest acknowledged version has the acknowledged checksum.
// 3. A write gets a version above the floor of its glimpse, and no version is given twice.
// 4. A save is absent only if a delete may have erased it: a delete that began after the glimpse,
//    that was under way, or whose outcome is unknown; or if no acknowledged write is known to
//    follow the latest delete. A write is known to follow if no delete overlapped it.
// 5. An acknowledged delete raises the floor: the version before it must not come back.
//
// Thread-safe: the players are dealt to mutexes, and each mutex is held for a few instructions.
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
        std::uint32_t deletes_begun = 0;  // without the delete of this request
        bool delete_under_way = false;
        bool must_exist = false;
    };

    explicit ledger(std::size_t players) : entries_(players) {}

    // Call them before the request is sent.
    [[nodiscard]] glimpse begin(std::size_t player);
    [[nodiscard]] glimpse begin_delete(std::size_t player);

    // Call them when an answer has come. The result says what is wrong with it; empty: nothing.
    [[nodiscard]] std::string saw(std::size_t player, const glimpse& before, std::uint64_t version,
                                  std::uint64_t checksum);
    [[nodiscard]] std::string wrote(std::size_t player, const glimpse& before,
                                    std::uint64_t version, std::uint64_t checksum);
    [[nodiscard]] std::string absent(std::size_t player, const glimpse& before);

    // Call them at the end of a delete. Not if its outcome is unknown (no answer, 503, 504): such a
    // delete may take effect at any time.
    void deleted(std::size_t player, const glimpse& before);
    [[nodiscard]] std::string delete_found_nothing(std::size_t player, const glimpse& before);
    void delete_refused(std::size_t player);

    // Whether a write of `player` was acknowledged.
    [[nodiscard]] bool knows(std::size_t player);

    // A text file with a line for each known player. Not while requests are under way. The error is
    // a sentence. `load` of a file that does not exist leaves the ledger empty.
    [[nodiscard]] std::expected<void, std::string> load(const std::string& path);
    [[nodiscard]] std::expected<void, std::string> store(const std::string& path) const;

private:
    struct entry {
        std::uint64_t floor = 0;
        std::uint64_t version = 0;   // of the latest acknowledged write; 0: none
        std::uint64_t checksum = 0;  // of that write
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
