// Several waits of which one ends: the branches of a select.
//
//     open --claim(branch)--> decided, for good
//
// What ends a wait of a select claims its branch first, and does nothing for it if the claim fails:
// another branch has ended the select. So a value, a permit or a signal goes to the branch that is
// taken, and to no other.
//
// A claim is made under the mutex of the structure in which the branch waits, and only when nothing
// else can fail: what was claimed must be granted before the mutex is unlocked. Two selects cannot
// be claimed together, so what needs both at once does not happen.
//
// Any thread. One exchange of a word.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sync {

class choice {
public:
    /// The number of a branch.
    using branch = std::uint8_t;

    choice() = default;
    choice(const choice&) = delete;
    choice& operator=(const choice&) = delete;

    /// Decides for `which`. True also if it was decided so before.
    [[nodiscard]] bool claim(branch which) noexcept {
        std::uint16_t word = open;
        // relaxed: the word decides, and publishes nothing. What a branch is granted is published
        // by the mutex of its structure and by the completion of the task.
        return word_.compare_exchange_strong(word, which, relaxed, relaxed) || word == which;
    }

    [[nodiscard]] bool is_open() const noexcept { return word_.load(relaxed) == open; }
    [[nodiscard]] bool is_for(branch which) const noexcept { return word_.load(relaxed) == which; }
    /// The branch that it was decided for.
    [[nodiscard]] branch decided() const noexcept {
        return static_cast<branch>(word_.load(relaxed));
    }

    /// For a second round. No branch waits.
    void reopen() noexcept { word_.store(open, relaxed); }

private:
    static constexpr std::uint16_t open = 256;

    sync::atomic<std::uint16_t> word_{open};
};

}  // namespace fairlead::sync
