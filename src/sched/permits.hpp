// Permits in the queue of a group with a bound: how many tasks may be posted and not begun, and who waits for a permit.
//
//     bits of the word
//       line      1   somebody waits in the line: who comes now does not take a permit before it
//       taken    63
//
// All who take a permit or give one back change this word. Who finds all taken sets `line`, under the mutex, in the exchange that
// sees so; who gives one back after that sees `line`, and hands the permit to the first of the line, under the mutex [PL1].
//
// Spec: Permits in spec/MAP.md.
#pragma once

#include <fairlead/base/list.hpp>
#include <fairlead/sched/permit.hpp>
#include <fairlead/sync/atomic.hpp>
#include <fairlead/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sched {

class permits {
public:
    // 0: without a bound.
    explicit permits(std::size_t most) noexcept : most_{bound_of(most)} {}

    // --- any thread --------------------------------------------------------------------------------

    // False: none is free, or others wait.
    [[nodiscard]] bool try_take() noexcept { return take(false); }

    // Though none is free: something older will be dropped.
    void take_one_more() noexcept { word_.fetch_add(one_taken, sync::relaxed); }

    // Whether more are taken than may be.
    [[nodiscard]] bool has_excess() const noexcept {
        return taken(word_.load(sync::relaxed)) > most_.load(sync::relaxed);
    }

    // Nothing but the count and who waits depends on it: the order of the word is enough [PL1].
    void give_back() noexcept {
        if ((word_.fetch_sub(one_taken, sync::relaxed) & line) != 0) hand_out();
    }

    void set_most(std::size_t most) noexcept;

    // True: it waits, and is granted a permit. False: it has one.
    [[nodiscard]] bool enlist(permit_waiter& who) noexcept;

    // False: it does not wait any more.
    [[nodiscard]] bool withdraw(permit_waiter& who) noexcept;

    [[nodiscard]] std::size_t waiting() noexcept;

private:
    static constexpr std::uint64_t line = 1;
    static constexpr std::uint64_t one_taken = 2;

    static constexpr std::uint64_t bound_of(std::size_t most) noexcept {
        return most == 0 ? UINT64_MAX : most;
    }
    static constexpr std::uint64_t taken(std::uint64_t word) noexcept { return word / one_taken; }

    [[nodiscard]] bool take(bool first_in_line) noexcept;
    void hand_out() noexcept;
    void end_line_if_empty() noexcept;

    sync::atomic<std::uint64_t> word_{0};
    sync::atomic<std::uint64_t> most_;  // written under the mutex
    sync::mutex mutex_;
    base::list<permit_waiter, &permit_waiter::links_> line_;  // guarded by mutex_
};

}  // namespace fairlead::sched
