#include "savegames/trivial.hpp"

#include <algorithm>
#include <utility>

namespace savegames {

trivial::trivial(std::size_t threads) {
    try {
        for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
            threads_.emplace_back([this] { serve(); });
        }
    } catch (...) {
        stop(std::chrono::milliseconds{0});
        throw;
    }
}

trivial::~trivial() { stop(std::chrono::milliseconds{0}); }

bool trivial::post(function work) {
    const std::lock_guard lock{mutex_};
    if (stopping_) return false;
    queue_.push_back(std::move(work));
    // Under the lock: otherwise `work` could run, and its owner destroy the pool, before this call.
    filled_.notify_one();
    return true;
}

std::size_t trivial::stop(std::chrono::milliseconds limit) {
    std::deque<function> not_started;
    {
        std::unique_lock lock{mutex_};
        stopping_ = true;
        filled_.notify_all();
        if (limit.count() > 0) {  // a limit of 0 keeps the lock, so no function starts
            idle_.wait_for(lock, limit, [this] { return queue_.empty() && running_ == 0; });
        }
        not_started.swap(queue_);
    }
    filled_.notify_all();
    for (std::thread& each : threads_) {
        if (each.joinable()) each.join();
    }
    return not_started.size();
}

std::uint64_t trivial::wakeups() const {
    const std::lock_guard lock{mutex_};
    return wakeups_;
}

void trivial::add_wakeups(std::uint64_t count) {
    const std::lock_guard lock{mutex_};
    wakeups_ += count;
}

void trivial::serve() {
    std::unique_lock lock{mutex_};
    for (;;) {
        while (queue_.empty()) {
            if (stopping_) return;
            filled_.wait(lock);
            ++wakeups_;
        }
        function work = std::move(queue_.front());
        queue_.pop_front();
        ++running_;
        lock.unlock();
        work();
        work = nullptr;  // destroys the captured values outside the lock
        lock.lock();
        if (--running_ == 0 && stopping_) idle_.notify_all();
    }
}

}  // namespace savegames
