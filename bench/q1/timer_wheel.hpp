// A hierarchical timer wheel: levels of 64 slots, each level 64 times coarser than the one below,
// as Varghese and Lauck describe and Tokio and the Linux kernel use.
//
// A sleeper lies on the level of the highest six bits in which its tick differs from the present
// one. So all slots of a level lie ahead of the present, those of a lower level come first, and the
// lowest occupied one is found with two bit scans. When a slot of a higher level is reached, its
// sleepers move down: all of them at once.
//
// Within a tick there is no order: 1,024 ns here.
#pragma once

#include "q1/deadline_bench.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <utility>

namespace bench::q1 {

class timer_wheel {
public:
    static constexpr fairlead::duration resolution = std::chrono::nanoseconds{1024};

    void push(sleeper& item) noexcept {
        const std::uint64_t tick = tick_of(item);
        const std::uint64_t differs = tick ^ present_;
        const unsigned level =
            differs == 0 ? 0 : static_cast<unsigned>(std::bit_width(differs) - 1) / slot_bits;
        const unsigned slot = static_cast<unsigned>(tick >> (level * slot_bits)) & slot_mask;
        link(item, level * slots + slot);
    }

    void erase(sleeper& item) noexcept {
        const auto place = static_cast<unsigned>(item.index);
        (item.previous == nullptr ? heads_[place] : item.previous->next) = item.next;
        if (item.next != nullptr) item.next->previous = item.previous;
        if (heads_[place] == nullptr) occupied_[place / slots] &= ~bit(place);
    }

    /// One of the sleepers of the first tick, or null. The present goes on to it.
    [[nodiscard]] sleeper* pop() noexcept {
        for (unsigned level = 0; level != levels;) {
            if (occupied_[level] == 0) {
                ++level;
                continue;
            }
            const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
            const unsigned shift = level * slot_bits;
            present_ = (present_ >> shift >> slot_bits << slot_bits | slot) << shift;
            if (level == 0) {
                sleeper* const first = heads_[slot];
                erase(*first);
                return first;
            }
            move_down(level * slots + slot);
            level = 0;
        }
        return nullptr;
    }

private:
    static constexpr unsigned levels = 8;
    static constexpr unsigned slot_bits = 6;
    static constexpr unsigned slots = 1u << slot_bits;
    static constexpr unsigned slot_mask = slots - 1;

    static std::uint64_t bit(unsigned place) noexcept {
        return std::uint64_t{1} << (place & slot_mask);
    }

    // Rounded up: never early.
    static std::uint64_t tick_of(const sleeper& item) noexcept {
        const auto since = item.deadline.time_since_epoch();
        return static_cast<std::uint64_t>((since + resolution - fairlead::duration{1}) /
                                          resolution);
    }

    void link(sleeper& item, unsigned place) noexcept {
        item.index = static_cast<std::int32_t>(place);
        item.previous = nullptr;
        item.next = heads_[place];
        if (item.next != nullptr) item.next->previous = &item;
        heads_[place] = &item;
        occupied_[place / slots] |= bit(place);
    }

    void move_down(unsigned place) noexcept {
        sleeper* item = std::exchange(heads_[place], nullptr);
        occupied_[place / slots] &= ~bit(place);
        while (item != nullptr) {
            sleeper* const next = item->next;
            push(*item);
            item = next;
        }
    }

    std::uint64_t present_ = 0;  // the tick up to which everything was popped
    std::array<std::uint64_t, levels> occupied_{};
    std::array<sleeper*, levels * slots> heads_{};
};

}  // namespace bench::q1
