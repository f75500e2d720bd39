// What many games share, so that none of them uses it up: requests under way, bytes in memory, room in a queue.
//
// Besides the bound of all, each game must leave some for others: the more it has, the more, as in switches whose
// ports share one memory (Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998). A game alone gets 8/9 of the
// whole, one of two 8/17 each, and who has nothing yet always finds some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace savegames {

// Why somebody gets no more.
enum class grant : std::uint8_t {
    granted,
    exhausted,   // there is too little left for anybody
    over_share,  // the rest is for others
};

// Of `max`, all have `all`. May who has `mine` of that have `more`?
[[nodiscard]] constexpr grant grant_of(std::size_t mine, std::size_t more, std::size_t all,
                                       std::size_t max) {
    if (all > max || more > max - all) return grant::exhausted;
    return (mine + more) / 8 <= max - all ? grant::granted : grant::over_share;
}

// Thread-safe by one mutex, held for a few additions.
class budget {
public:
    // `each_min`: what each may have in any case, if there is enough.
    explicit budget(std::size_t max, std::size_t each_min = 0) : max_{max}, each_min_{each_min} {}

    struct counts {
        std::size_t used = 0;
        std::uint64_t granted = 0;  // so often
        std::uint64_t refused = 0;
    };

    // What one game has. Outlives its shares.
    class account {
    public:
        account() = default;
        account(const account&) = delete;
        account& operator=(const account&) = delete;

    private:
        friend class budget;
        counts counted_;
        std::size_t max_ = std::numeric_limits<std::size_t>::max();
    };

    // What one request or connection has, given back when destroyed.
    class share {
    public:
        share(budget& of, account& owner) noexcept : of_{of}, owner_{owner} {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { of_.give_back(owner_, size_); }

        // Takes all or nothing.
        [[nodiscard]] grant try_grow(std::size_t size) {
            const grant answer = of_.take(owner_, size, false);
            if (answer == grant::granted) size_ += size;
            return answer;
        }

        // Takes it, even if it is too much.
        void grow(std::size_t size) {
            (void)of_.take(owner_, size, true);
            size_ += size;
        }

        [[nodiscard]] std::size_t size() const noexcept { return size_; }

        // Part of what it has.
        void give_back(std::size_t size) {
            of_.give_back(owner_, size);
            size_ -= size;
        }

    private:
        budget& of_;
        account& owner_;
        std::size_t size_ = 0;
    };

    // A bound of this game's own. What it has already it may keep.
    void limit(account& owner, std::size_t max) {
        const std::lock_guard lock{mutex_};
        owner.max_ = max;
    }

    [[nodiscard]] counts count(const account& owner) const {
        const std::lock_guard lock{mutex_};
        return owner.counted_;
    }

    [[nodiscard]] std::size_t used() const {
        const std::lock_guard lock{mutex_};
        return used_;
    }
    [[nodiscard]] std::size_t max() const noexcept { return max_; }

private:
    grant take(account& owner, std::size_t size, bool always) {
        const std::lock_guard lock{mutex_};
        const grant answer = always ? grant::granted : judge(owner, size);
        if (answer != grant::granted) {
            ++owner.counted_.refused;
            return answer;
        }
        ++owner.counted_.granted;
        owner.counted_.used += size;
        used_ += size;
        return answer;
    }

    [[nodiscard]] grant judge(const account& owner, std::size_t size) const {
        const std::size_t mine = owner.counted_.used;
        const grant answer = grant_of(mine, size, used_, max_);
        if (answer == grant::exhausted) return answer;
        if (mine + size > owner.max_) return grant::over_share;
        return mine + size <= each_min_ ? grant::granted : answer;
    }

    void give_back(account& owner, std::size_t size) {
        if (size == 0) return;
        const std::lock_guard lock{mutex_};
        owner.counted_.used -= size;
        used_ -= size;
    }

    const std::size_t max_;
    const std::size_t each_min_;
    mutable std::mutex mutex_;
    std::size_t used_ = 0;
};

}  // namespace savegames
