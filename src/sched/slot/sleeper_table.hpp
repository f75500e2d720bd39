// Tasks that sleep until they are woken. The table exists so that a stop can find them.
//
// Each slot has a table, and the holder of the role has one. The owner of a table puts tasks in;
// the step that wakes a task takes it out, or the role, whatever its table, by a store: it clears
// the place, to which the task refers. So a sleep and a wake-up need no lock, and mostly no role.
//
//     first_ ---> chunk ---> chunk ---> chunk      each of 63 places: a task, or null
//                              ^ at_, next_: where the owner looks for an empty place
//
// The owner goes round over the chunks and fills the empty places. Where it finds none among 32 it
// adds a chunk there. So a sleep takes O(1) on average, and each sleeper about 8 bytes. The owner
// frees the empty chunks that it comes by: a chunk stays as long as one of its tasks sleeps, and
// after a burst until other tasks go to sleep.
//
// Another thread may visit the tasks only while the gate is closed: sleeper_gate.hpp.
#pragma once

#include "sched/slot/sleeper_gate.hpp"

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/sched/task.hpp>

#include <array>
#include <cstddef>

namespace fairlead::sched {

class sleeper_table {
public:
    // `gate`: of a table that another thread than its owner may visit. Else null.
    explicit sleeper_table(const sleeper_gate* gate = nullptr) noexcept : gate_{gate} {}
    sleeper_table(const sleeper_table&) = delete;
    sleeper_table& operator=(const sleeper_table&) = delete;
    ~sleeper_table();

    // --- the owner -------------------------------------------------------------------------------

    // A place with the task in it; null if there is no memory for one.
    [[nodiscard]] sleeper_place* insert(basic_task& task) noexcept {
        sleeper_place* const place = find_empty();
        // release: a thread that visits the task sees what the owner has written into it.
        if (place != nullptr) place->store(&task, sync::release);
        return place;
    }

    // --- the thread that has ended the sleep of the task in the place ----------------------------

    // release: its last access to the place, whose chunk the owner may free then.
    static void erase(sleeper_place& place) noexcept { place.store(nullptr, sync::release); }

    // --- the owner, or while the gate is closed --------------------------------------------------

    // Calls visit(task) for each. `visit` may erase the task.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const chunk* each = first(); each != nullptr; each = each->after()) {
            for (const sleeper_place& place : each->places) {
                // acquire: pairs with insert.
                if (basic_task* const task = place.load(sync::acquire)) visit(*task);
            }
        }
    }

    [[nodiscard]] bool empty() const noexcept;

private:
    static constexpr std::size_t places_of_chunk = 63;  // with the pointer: 512 bytes
    static constexpr unsigned looks_max = 32;
    static constexpr unsigned frees_max = 16;  // chunks, each time that the owner enters one

    struct chunk {
        // acquire: pairs with the store that links it.
        [[nodiscard]] chunk* after() const noexcept { return next.load(sync::acquire); }
        [[nodiscard]] bool empty() const noexcept;

        sync::atomic<chunk*> next{nullptr};
        std::array<sleeper_place, places_of_chunk> places{};
    };

    [[nodiscard]] chunk* first() const noexcept { return first_.load(sync::acquire); }

    [[nodiscard]] sleeper_place* find_empty() noexcept {
        if (at_ == nullptr) [[unlikely]]
            return add_chunk();
        for (unsigned looks = 0; looks != looks_max; ++looks) {
            if (next_ == places_of_chunk) enter_next_chunk();
            sleeper_place& place = at_->places[next_++];
            // acquire: the thread that has cleared it does not touch it any more.
            if (place.load(sync::acquire) == nullptr) return &place;
        }
        return add_chunk();
    }
    [[nodiscard]] sleeper_place* add_chunk() noexcept;
    void enter_next_chunk() noexcept;
    void free_empty_after(chunk& before) noexcept;

    const sleeper_gate* const gate_;
    sync::atomic<chunk*> first_{nullptr};
    chunk* at_ = nullptr;
    std::size_t next_ = 0;
};

}  // namespace fairlead::sched
