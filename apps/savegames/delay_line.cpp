#include "savegames/delay_line.hpp"

#include <algorithm>
#include <utility>

namespace savegames {

delay_line::delay_line() : thread_{[this] { serve(); }} {}

delay_line::~delay_line() { stop(); }

bool delay_line::later(const entry& a, const entry& b) noexcept {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
}

void delay_line::run_at(time_point when, std::move_only_function<void()> then) {
    std::unique_lock lock{mutex_};
    if (stopping_) {
        lock.unlock();
        then();
        return;
    }
    const std::uint64_t number = next_number_++;
    heap_.push_back({when, number, std::move(then)});
    std::ranges::push_heap(heap_, later);
    // Under the lock: otherwise `then` could run, and its caller destroy this, before the notify.
    if (heap_.front().number == number) changed_.notify_one();
}

void delay_line::stop() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_one();
    const std::lock_guard lock{join_mutex_};
    if (thread_.joinable()) thread_.join();
}

std::size_t delay_line::waiting() const {
    const std::lock_guard lock{mutex_};
    return heap_.size();
}

void delay_line::serve() {
    std::unique_lock lock{mutex_};
    for (;;) {
        if (heap_.empty()) {
            if (stopping_) return;
            changed_.wait(lock);
        } else if (const time_point when = heap_.front().when; !stopping_ && clock::now() < when) {
            changed_.wait_until(lock, when);
        } else {
            std::ranges::pop_heap(heap_, later);
            auto then = std::move(heap_.back().then);
            heap_.pop_back();
            lock.unlock();
            then();
            then = nullptr;  // destroys the captured values outside the lock
            lock.lock();
        }
    }
}

}  // namespace savegames
