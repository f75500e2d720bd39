#include "sched/monitor.hpp"

#include "sched/core.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace fairlead::sched {

void monitor::start() {
    const duration slice = core_.options.slice;
    if (slice == duration::zero()) return;
    pause_min_ = pause_ = std::min(slice / looks_of_slice, pause_max);
    seen_.assign(core_.width(), {});
    ending_.store(false, sync::relaxed);  // the thread does not run yet
    auto started = os::start_thread(core_.options.name + "/monitor", [this] { run(); });
    if (!started) {
        throw std::system_error{started.error(), "fairlead: cannot start the monitor thread"};
    }
    thread_ = std::move(*started);
    watches_ = true;
}

void monitor::stop() noexcept {
    if (!thread_.joinable()) return;
    ending_.store(true, sync::relaxed);  // published by the signal
    wake_.send();
    thread_.join();
}

void monitor::run() noexcept {
    int idle = 0;
    while (!ending_.load(sync::relaxed)) {
        const time_point now = clock::now();
        idle = look(now) ? 0 : idle + 1;
        if (idle < idle_looks) {
            static_cast<void>(wake_.receive_until(next_look(now)));
        } else {
            sleep_if_all_do();
            idle = 0;
        }
    }
}

void monitor::sleep_if_all_do() noexcept {
    asleep_.exchange(true, sync::acq_rel);  // [MO1]
    const time_point limit = core_.idle.all_asleep() ? never : clock::now() + pause_max;
    static_cast<void>(wake_.receive_until(limit));
    asleep_.exchange(false, sync::acq_rel);
    pause_ = pause_max / 2;  // few steps are long
}

// Whether a worker runs a step.
bool monitor::look(time_point now) noexcept {
    bool some_run = false;
    bool some_are_long = false;
    sight* longest = nullptr;
    for (std::size_t i = 0; i != seen_.size(); ++i) {
        const slot& each = *core_.slots[i];
        sight& seen = seen_[i];
        const bool runs = each.running.load(sync::acquire) != nullptr;
        const std::uint64_t step = each.finished.read();
        some_run |= runs;
        if (!runs || step != seen.number) {
            seen = {runs ? step : none, now};
            continue;
        }
        some_are_long = true;
        if (longest == nullptr || seen.since < longest->since) longest = &seen;
    }
    pause_ = some_are_long ? pause_min_ : std::min(2 * pause_, pause_max);
    if (longest == nullptr) return some_run;
    // Who is due waits for the next safepoint, not for the end of the slice.
    if (core_.role.next_due() <= core_.now()) ask(*longest);
    for (const sight& each : seen_) {
        if (now - each.since >= core_.options.slice) ask(each);
    }
    return true;
}

void monitor::ask(const sight& step) noexcept {
    const auto index = static_cast<std::size_t>(&step - seen_.data());
    core_.slots[index]->asked_to_yield.store(step.number, sync::relaxed);  // a hint
}

// While all are busy nobody else looks at deadlines.
time_point monitor::next_look(time_point now) const noexcept {
    const time_point due = core_.role.next_due();
    if (due == never) return now + pause_;
    const duration until_due = due - core_.now();
    return now + std::clamp(until_due, std::min(pause_min_, pause_), pause_);
}

}  // namespace fairlead::sched
