// The operations that a store has under way, bounded in number and in bytes. All games share the
// bounds, and none may use them up (see budget.hpp).
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "savegames/budget.hpp"

namespace savegames {

// Thread-safe by one mutex, held for a lookup in a map.
class under_way {
public:
    under_way(std::size_t count_max, std::size_t bytes_max)
        : count_max_{count_max}, bytes_max_{bytes_max} {}
    under_way(const under_way&) = delete;
    under_way& operator=(const under_way&) = delete;

    // The place of one operation; the end gives it back. It must end before the whole.
    class place {
    public:
        place() = default;
        place(place&& other) noexcept
            : of_{std::exchange(other.of_, nullptr)}, at_{other.at_}, bytes_{other.bytes_} {}
        place& operator=(place&&) = delete;
        ~place() { leave(); }

        void leave() noexcept {
            if (auto* const of = std::exchange(of_, nullptr)) of->leave(at_, bytes_);
        }

    private:
        friend class under_way;
        struct usage {
            std::size_t count = 0;
            std::size_t bytes = 0;
        };
        using usages = std::map<std::string, usage>;

        under_way* of_ = nullptr;
        usages::iterator at_{};
        std::size_t bytes_ = 0;
    };

    // Takes a place for an operation of `game`. Unless the answer is `granted`, `to` has none.
    [[nodiscard]] grant enter(const std::string& game, std::size_t bytes, place& to) {
        const std::lock_guard lock{mutex_};
        const auto at = games_.try_emplace(game).first;
        place::usage& mine = at->second;
        const grant of_count = grant_of(mine.count, 1, count_, count_max_);
        const grant of_bytes = grant_of(mine.bytes, bytes, bytes_, bytes_max_);
        const bool granted = of_count == grant::granted && of_bytes == grant::granted;
        if (granted) {
            ++mine.count, ++count_;
            mine.bytes += bytes, bytes_ += bytes;
            to.of_ = this, to.at_ = at, to.bytes_ = bytes;
        } else if (mine.count == 0) {
            games_.erase(at);
        }
        return of_count == grant::granted ? of_bytes : of_count;
    }

private:
    void leave(place::usages::iterator at, std::size_t bytes) noexcept {
        const std::lock_guard lock{mutex_};
        --at->second.count, --count_;
        at->second.bytes -= bytes, bytes_ -= bytes;
        if (at->second.count == 0) games_.erase(at);
    }

    const std::size_t count_max_;
    const std::size_t bytes_max_;
    std::mutex mutex_;
    place::usages games_;  // each has operations
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace savegames
