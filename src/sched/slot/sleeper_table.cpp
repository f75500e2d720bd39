#include "sched/slot/sleeper_table.hpp"

#include <algorithm>
#include <new>

namespace fairlead::sched {

sleeper_table::~sleeper_table() {
    chunk* next = first();
    while (chunk* const each = next) {
        next = each->after();
        delete each;
    }
}

bool sleeper_table::empty() const noexcept {
    for (const chunk* each = first(); each != nullptr; each = each->after()) {
        if (!each->empty()) return false;
    }
    return true;
}

// acquire: what has cleared the places does not touch them any more.
bool sleeper_table::chunk::empty() const noexcept {
    return std::ranges::all_of(
        places, [](const sleeper_place& each) { return each.load(sync::acquire) == nullptr; });
}

// Behind the chunk where the owner is: its next places are all empty. Null: no memory.
[[gnu::noinline]] sleeper_place* sleeper_table::add_chunk() noexcept {
    chunk* const added = new (std::nothrow) chunk;
    if (added == nullptr) return nullptr;
    // release: a thread that visits the table sees the chunk as it is.
    if (at_ == nullptr) {
        first_.store(added, sync::release);
    } else {
        added->next.store(at_->after(), sync::relaxed);
        at_->next.store(added, sync::release);
    }
    at_ = added;
    next_ = 1;
    return &added->places[0];
}

[[gnu::noinline]] void sleeper_table::enter_next_chunk() noexcept {
    at_ = at_->after() != nullptr ? at_->after() : first();
    next_ = 0;
    free_empty_after(*at_);
}

// A thread that visits the table may be in the chunk already: then it is linked again.
void sleeper_table::free_empty_after(chunk& before) noexcept {
    for (unsigned left = frees_max; left != 0; --left) {
        chunk* const unused = before.after();
        if (unused == nullptr || !unused->empty()) return;
        before.next.store(unused->after(), sync::release);
        if (gate_ != nullptr && !gate_->is_open()) {  // [SL1]
            return before.next.store(unused, sync::release);
        }
        delete unused;
    }
}

}  // namespace fairlead::sched
