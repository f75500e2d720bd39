#include "savegames/updater.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace savegames {

updater::updater(updater_options options) : options_{options} {
    for (std::size_t i = 0; i < std::max<std::size_t>(options_.threads, 1); ++i) {
        pollers_.push_back(std::make_unique<poller>());
    }
    try {
        for (auto& each : pollers_) {
            each->thread = std::thread{[this, self = each.get()] { serve(*self); }};
        }
    } catch (...) {
        stop(std::chrono::milliseconds{0});
        throw;
    }
}

updater::~updater() { stop(std::chrono::milliseconds{0}); }

bool updater::post(update_function update) {
    std::size_t index = 0;
    {
        const std::lock_guard lock{next_mutex_};
        index = next_++ % pollers_.size();
    }
    poller& to = *pollers_[index];
    const std::lock_guard lock{to.mutex};
    if (to.stopping) return false;
    to.arrived.push_back(std::move(update));
    ++to.unfinished;
    return true;
}

std::size_t updater::stop(std::chrono::milliseconds limit) {
    const time_point end = clock::now() + limit;
    for (auto& each : pollers_) {
        const std::lock_guard lock{each->mutex};
        each->stopping = true;
        each->end = std::min(each->end, end);
        each->told_to_stop.notify_one();
    }
    std::size_t unfinished = 0;
    for (auto& each : pollers_) {
        if (each->thread.joinable()) each->thread.join();
        each->held.clear();
        std::vector<update_function> arrived;
        {
            const std::lock_guard lock{each->mutex};
            arrived.swap(each->arrived);
            unfinished += std::exchange(each->unfinished, 0);
        }
    }
    return unfinished;
}

std::uint64_t updater::wakeups() const {
    std::uint64_t total = 0;
    for (const auto& each : pollers_) {
        const std::lock_guard lock{each->mutex};
        total += each->wakeups;
    }
    return total;
}

std::size_t updater::size() const {
    std::size_t total = 0;
    for (const auto& each : pollers_) {
        const std::lock_guard lock{each->mutex};
        total += each->unfinished;
    }
    return total;
}

void updater::serve(poller& self) const {
    time_point next = clock::now() + options_.period;
    std::unique_lock lock{self.mutex};
    for (;;) {
        // After `stop` with a limit, the tasks go on at their pace.
        self.told_to_stop.wait_until(lock, std::min(next, self.end), [&] {
            return self.stopping && (self.unfinished == 0 || clock::now() >= self.end);
        });
        ++self.wakeups;
        if (self.stopping && (self.unfinished == 0 || clock::now() >= self.end)) return;
        if (clock::now() < next) continue;  // `stop` has set `end`, which is nearer
        std::ranges::move(self.arrived, std::back_inserter(self.held));
        self.arrived.clear();
        lock.unlock();
        update_all(self);
        next = std::max(next + options_.period, clock::now());
        lock.lock();
    }
}

void updater::update_all(poller& self) {
    const std::size_t done = std::erase_if(self.held, [](update_function& each) { return each(); });
    const std::lock_guard lock{self.mutex};
    self.unfinished -= done;
}

}  // namespace savegames
