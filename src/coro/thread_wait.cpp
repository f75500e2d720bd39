#include <fairlead/detail/coro/home_pin.hpp>
#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/detail/os/thread.hpp>

namespace fairlead::coro {

// [HP1] before the thread reads `moved_`.
void home_pin::begin_to_look() noexcept { looks_.store(true, sync::seq_cst); }

// release: pairs with await_last_look.
void home_pin::end_to_look() noexcept { looks_.store(false, sync::release); }

bool home_pin::has_moved() const noexcept {
    return moved_.load(sync::seq_cst);  // [HP1]
}

void home_pin::move() noexcept {
    moved_.store(true, sync::seq_cst);  // [HP1]
    await_last_look();
}

void home_pin::await_last_look() const noexcept {
    // [HP1] acquire: what the thread did with the scheduler is before its end.
    while (looks_.load(sync::seq_cst)) os::yield();  // for some instructions
}

std::optional<wait_error> thread_wait::wait_until(time_point deadline) {
    const bool enlisted = watch_ && watch_->enlist(*this);
    const bool halted_before = watch_ && !enlisted && is_left();
    const bool told = !halted_before && thread_.wait_until(deadline);
    if (enlisted) watch_->leave(*this);
    if (halted_) return wait_error::stopped;
    if (told) return std::nullopt;
    if (withdraw()) return halted_before ? wait_error::stopped : wait_error::expired;
    thread_.wait();  // what it waits for is about to tell it
    return std::nullopt;
}

void thread_wait::workers_ended() noexcept {
    if (!is_left() || !withdraw()) return;
    halted_ = true;  // the thread reads it after it has left the watch
    thread_.tell();
}

}  // namespace fairlead::coro
