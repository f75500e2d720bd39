// Resources that many games share: requests under way, bytes in memory, room in a queue. No game
// may use one up.
//
// Besides the limit of the whole, a game may have at most eight times what is still free, as in
// switches whose ports share one memory (Choudhury and Hahne, Dynamic Queue Length Thresholds,
// 1998). So one game alone gets 8/9 of the whole, two games get 8/17 each, and a game that has
// nothing always finds some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace savegames {

// The answer to a request for more.
enum class grant : std::uint8_t {
    granted,
    exhausted,   // too little is free for any game
    over_share,  // what is free is kept for other games
};

// All games together have `all` of `max`. Whether a game that has `mine` may have `more`.
[[nodiscard]] constexpr grant grant_of(std::size_t mine, std::size_t more, std::size_t all,
                                       std::size_t max) {
    if (all > max || more > max - all) return grant::exhausted;
    return (mine + more) / 8 <= max - all ? grant::granted : grant::over_share;
}

// Thread-safe by one mutex, held for a few additions.
class budget {
public:
    // `each_min`: what each game may have in any case, if so much is free.
    explicit budget(std::size_t max, std::size_t each_min = 0) : max_{max}, each_min_{each_min} {}

    struct counts {
        std::size_t used = 0;
        std::uint64_t granted = 0;  // requests for more that were granted
        std::uint64_t refused = 0;  // requests for more that were refused
    };

    // What one game has. It outlives its shares.
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

    // What one request or one connection has. The destructor gives it back.
    class share {
    public:
        share(budget& of, account& owner) noexcept : of_{of}, owner_{owner} {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { of_.give_back(owner_, size_); }

        // Takes all of `size`, or nothing.
        [[nodiscard]] grant try_grow(std::size_t size) {
            const grant answer = of_.take(owner_, size, false);
            if (answer == grant::granted) size_ += size;
            return answer;
        }

        // Takes `size`, even beyond every limit.
        void grow(std::size_t size) {
            (void)of_.take(owner_, size, true);
            size_ += size;
        }

        [[nodiscard]] std::size_t size() const noexcept { return size_; }

        // Gives back a part.
        void give_back(std::size_t size) {
            of_.give_back(owner_, size);
            size_ -= size;
        }

    private:
        budget& of_;
        account& owner_;
        std::size_t size_ = 0;
    };

    // Sets a limit for this game alone. The game keeps what it has already.
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
