// Which task has something, for a question that only this task asks: is it I?
//
// Any thread may ask. The order is relaxed: a task that asks sees what it has set itself, and what
// another task has set is not its own address in any order.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

namespace fairlead::sync {

class owner_mark {
public:
    void set(const void* owner) noexcept { owner_.store(owner, relaxed); }
    void clear() noexcept { set(nullptr); }
    [[nodiscard]] bool is(const void* asking) const noexcept {
        return owner_.load(relaxed) == asking;
    }

private:
    atomic<const void*> owner_{nullptr};
};

}  // namespace fairlead::sync
