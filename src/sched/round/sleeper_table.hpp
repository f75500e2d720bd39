// Tasks that sleep until they are woken: a table with holes, so that a task comes and goes in O(1)
// without touching its neighbours. It exists so that a stop can find them.
#pragma once

#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace fairlead::sched {

class sleeper_table {
public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // The index of the task, or `none` if there is no memory for it.
    static constexpr std::int32_t none = -1;
    [[nodiscard]] std::int32_t insert(basic_task& task) noexcept {
        if (first_hole_ == none) {
            try {
                entries_.push_back({&task, none});
            } catch (const std::bad_alloc&) {
                return none;
            }
            ++size_;
            return static_cast<std::int32_t>(entries_.size() - 1);
        }
        ++size_;
        const std::int32_t index = first_hole_;
        first_hole_ = entries_[static_cast<std::size_t>(index)].next_hole;
        entries_[static_cast<std::size_t>(index)] = {&task, none};
        return index;
    }

    void erase(std::int32_t index) noexcept {
        entries_[static_cast<std::size_t>(index)] = {nullptr, first_hole_};
        first_hole_ = index;
        if (--size_ == 0 && entries_.size() > kept_entries) give_back();
    }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const entry& each : entries_) {
            if (each.task != nullptr) visit(*each.task);
        }
    }

private:
    static constexpr std::size_t kept_entries = 1024;

    struct entry {
        basic_task* task;
        std::int32_t next_hole;
    };

    // A burst of sleepers must not hold its memory for ever.
    void give_back() noexcept {
        entries_ = {};
        first_hole_ = none;
    }

    std::vector<entry> entries_;
    std::int32_t first_hole_ = none;
    std::size_t size_ = 0;
};

}  // namespace fairlead::sched
