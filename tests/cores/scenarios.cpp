#include "cores/scenarios.hpp"

#include "cores/machine.hpp"

#include <fairlead/detail/os/cpu.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace fairlead::cores {
namespace {

constexpr std::size_t own_lines = 128;  // no two tasks share a line, nor the pair that is fetched

// What all tasks of a scenario read.
struct alignas(own_lines) stage {
    explicit stage(const asked& how)
        : home{{.workers = how.workers, .policy = how.policy}}, step{how.step} {}

    scheduler home;
    const std::int64_t step;
    sync::atomic<bool> is_over{false};
};

// The lengths of the steps of a task: a linear congruential generator.
class lengths {
public:
    explicit lengths(std::uint64_t seed) : state_{seed} {}

    [[nodiscard]] std::int64_t next(std::int64_t step) noexcept {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        const auto part = static_cast<std::int64_t>(state_ >> 54);  // of 1024
        return step * 3 / 4 + step * part / 2048;
    }

private:
    std::uint64_t state_;
};

struct alignas(own_lines) actor : callback_task {
    actor(stage& on, std::uint64_t seed, callback step) : callback_task{step}, at{on}, next{seed} {}

    // The wait ends; the step lasts. Returns when it ends.
    std::int64_t act() noexcept {
        const std::int64_t begin = now();
        count_wait(begin - ready_at);
        ++steps;
        return work_until(begin + next.next(at.step));
    }

    stage& at;
    lengths next;
    std::int64_t ready_at = 0;
    std::uint64_t steps = 0;
};

template <class Actor>
class cast {
public:
    cast(stage& on, std::size_t count, std::uint64_t seed) {
        std::minstd_rand random{static_cast<std::minstd_rand::result_type>(seed)};
        for (std::size_t i = 0; i != count; ++i) {
            all_.push_back(std::make_unique<Actor>(on, random() * std::uint64_t{2654435761U} + i));
            name_tasks(all_.back().get(), sizeof(Actor));
        }
    }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] Actor& operator[](std::size_t i) const { return *all_[i]; }
    [[nodiscard]] std::uint64_t steps() const {
        std::uint64_t sum = 0;
        for (const auto& each : all_) sum += each->steps;
        return sum;
    }

private:
    std::vector<std::unique_ptr<Actor>> all_;
};

std::size_t count_of(const asked& how) {
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(how.many * static_cast<double>(how.workers)));
}

void sleep_until(std::int64_t when) {
    sync::signal nobody;
    static_cast<void>(nobody.receive_until(time_point{duration{when}}));
}

rounds_and_more counts_of(const scheduler& home) {
    rounds_and_more sum;
    for (const worker_stats& each : home.stats()) {
        sum.rounds += each.rounds;
        sum.wakeups += each.wakeups;
        sum.stolen += each.stolen;
    }
    return sum;
}

// `drive(until)` is what the thread of the scenario does until then.
template <class Drive>
void measure(const asked& how, stage& on, outcome& found, Drive drive) {
    callback_task names{[](callback_task&) { name_parts(); }};
    on.home.post(names);
    drive(now() + how.warm);
    const rounds_and_more before = counts_of(on.home);
    begin_window();
    const std::int64_t begin = now();
    drive(begin + how.window);
    found.window = now() - begin;
    end_window();
    const rounds_and_more after = counts_of(on.home);
    found.counts = {after.rounds - before.rounds, after.wakeups - before.wakeups,
                    after.stolen - before.stolen};
    on.is_over.store(true, sync::relaxed);
    on.home.drain();
}

// --- chains --------------------------------------------------------------------------------------

struct chain : actor {
    chain(stage& on, std::uint64_t seed)
        : actor{on, seed, [](callback_task& self) { static_cast<chain&>(self).run_step(); }} {}

    void run_step() noexcept {
        ready_at = act();
        if (at.is_over.load(sync::relaxed)) return;
        ++posts;
        to.post(*this);
    }

    executor to{at.home};
    std::uint64_t posts = 0;
};

// In so many groups; 0: in the default group.
outcome play_chains(const asked& how, unsigned groups_wanted) {
    outcome found;
    stage on{how};
    const cast<chain> all{on, count_of(how), how.seed};
    std::deque<group> groups;
    for (unsigned i = 0; i != groups_wanted; ++i) groups.emplace_back(on.home);
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (!groups.empty()) all[i].to = groups[i % groups.size()];
        all[i].ready_at = now();
        all[i].to.post(all[i]);
    }
    measure(how, on, found, sleep_until);
    found.begun = all.size();
    for (std::size_t i = 0; i != all.size(); ++i) found.begun += all[i].posts;
    found.ran = all.steps();
    return found;
}

// --- posts from outside --------------------------------------------------------------------------

struct item : actor {
    item(stage& on, std::uint64_t seed)
        : actor{on, seed, [](callback_task& self) { static_cast<item&>(self).run_step(); }} {}

    // The post may come from outside again as soon as it is free: the last touch.
    void run_step() noexcept {
        act();
        is_free.store(true, sync::release);
    }
    void post() {
        is_free.store(false, sync::relaxed);
        ready_at = now();
        ++posts;
        at.home.post(*this);
    }

    std::uint64_t posts = 0;
    sync::atomic<bool> is_free{true};
};

std::uint64_t posts_of(const cast<item>& all) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != all.size(); ++i) sum += all[i].posts;
    return sum;
}

outcome play_posts(const asked& how) {
    outcome found;
    stage on{how};
    const cast<item> all{on, count_of(how), how.seed};
    std::size_t next = 0;
    measure(how, on, found, [&](std::int64_t until) {
        while (now() < until) {
            if (!all[next].is_free.load(sync::acquire)) {
                os::relax();
                continue;
            }
            all[next].post();
            if (++next == all.size()) next = 0;
        }
    });
    found.begun = posts_of(all);
    found.ran = all.steps();
    return found;
}

outcome play_bursts(const asked& how) {
    outcome found;
    stage on{how};
    const cast<item> all{on, count_of(how), how.seed};
    std::int64_t begin = now();
    measure(how, on, found, [&](std::int64_t until) {
        for (; begin + how.gap < until; begin += how.gap) {
            sleep_until(begin + how.gap);
            for (std::size_t i = 0; i != all.size(); ++i) {
                if (all[i].is_free.load(sync::acquire)) all[i].post();
            }
        }
        sleep_until(until);
    });
    found.begun = posts_of(all);
    found.ran = all.steps();
    return found;
}

// --- pairs ---------------------------------------------------------------------------------------

struct player : actor {
    player(stage& on, std::uint64_t seed)
        : actor{on, seed, [](callback_task& self) { static_cast<player&>(self).run_step(); }} {}

    // At the end each tells its partner, and none waits again. The look comes before the signal: so
    // a partner that ends has told this one of the end.
    void run_step() noexcept {
        const bool is_over = at.is_over.load(sync::relaxed);
        if (receive_signal()) {
            other->ready_at = act();
            other->signal();
            ++signals;
        }
        if (!is_over) at.home.post_wait(*this);
    }

    player* other = nullptr;
    std::uint64_t signals = 0;
};

outcome play_pairs(const asked& how) {
    outcome found;
    stage on{how};
    const std::size_t pairs = count_of(how);
    const cast<player> all{on, 2 * pairs, how.seed};
    for (std::size_t i = 0; i != all.size(); ++i) {
        all[i].other = &all[i ^ 1];
        on.home.post_wait(all[i]);
    }
    for (std::size_t i = 0; i != pairs; ++i) {
        all[2 * i].ready_at = now();
        all[2 * i].signal();
    }
    measure(how, on, found, sleep_until);
    // A signal ends in a step, but for those that came to a player that had ended.
    found.begun = pairs;
    for (std::size_t i = 0; i != all.size(); ++i) {
        found.begun += all[i].signals - (all[i].signalled() ? 1 : 0);
    }
    found.ran = all.steps();
    return found;
}

}  // namespace

outcome play(const asked& how) {
    if (how.scenario == "chains") return play_chains(how, 0);
    if (how.scenario == "grouped") return play_chains(how, how.groups);
    if (how.scenario == "posts") return play_posts(how);
    if (how.scenario == "bursts") return play_bursts(how);
    if (how.scenario == "pairs") return play_pairs(how);
    throw std::invalid_argument{"no scenario is called '" + how.scenario + "'"};
}

}  // namespace fairlead::cores
