// What both programs of Fairlead do: with groups of weight 100, or in the default group. Cases:
//
//     noisy         see noisy.hpp
//     posts         as the callbacks of W1, in one group: nanoseconds for each
//     hops          as the callbacks of W2, in one group: nanoseconds for each
//     hops_apart    as hops, each chain in a group of its own
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"
#include "w1/post_storm.hpp"
#include "w15/noisy.hpp"
#include "w2/repost.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace bench::w15 {

template <bool Grouped>
class fairlead_tenants {
public:
    explicit fairlead_tenants(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {
        if constexpr (Grouped) {
            light_ = light_group_.emplace(scheduler_, fairlead::group_options{.name = "light"});
            noisy_ = noisy_group_.emplace(scheduler_, fairlead::group_options{.name = "noisy"});
        }
    }

    template <class Request>
    void post_request(Request request) {
        light_.post(std::move(request));
    }

    void spawn_noise(w11::load& noise) {
        noisy_.post([this, &noise] {
            if (noise.step()) {
                spawn_noise(noise);
            } else {
                noise.leave();
            }
        });
    }

private:
    fairlead::scheduler scheduler_;
    std::optional<fairlead::group> light_group_;
    std::optional<fairlead::group> noisy_group_;
    fairlead::executor light_ = scheduler_;
    fairlead::executor noisy_ = scheduler_;
};

/// All tasks in one group.
template <bool Grouped>
class fairlead_tenant {
public:
    using item = fairlead::callback_task;

    explicit fairlead_tenant(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {
        if constexpr (Grouped) at_ = group_.emplace(scheduler_);
    }

    void post(item& task) { at_.post(task); }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        at_.post(std::forward<Callable>(callable));
    }

private:
    fairlead::scheduler scheduler_;
    std::optional<fairlead::group> group_;
    fairlead::executor at_ = scheduler_;
};

/// Each task in a group of its own.
template <bool Grouped>
class fairlead_tenants_apart {
public:
    struct item : fairlead::callback_task {
        explicit item(void (*step)(item&))
            : callback_task{[step](callback_task& self) { step(static_cast<item&>(self)); }} {}
        std::optional<fairlead::executor> at;
    };

    explicit fairlead_tenants_apart(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    // The main thread posts each task first.
    void post(item& task) {
        if (!task.at) task.at = home_of_next();
        task.at->post(task);
    }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        scheduler_.post(std::forward<Callable>(callable));
    }

private:
    fairlead::executor home_of_next() {
        if constexpr (Grouped) return groups_.emplace_back(scheduler_);
        return scheduler_;
    }

    fairlead::scheduler scheduler_;
    std::deque<fairlead::group> groups_;
};

template <bool Grouped>
std::optional<measurement> measure(const options& asked) {
    options callbacks = asked;
    callbacks.name = "callback";
    if (asked.name == "posts") return w1::measure<fairlead_tenant<Grouped>>(callbacks);
    if (asked.name == "hops") return w2::measure<fairlead_tenant<Grouped>>(callbacks);
    if (asked.name == "hops_apart") return w2::measure<fairlead_tenants_apart<Grouped>>(callbacks);
    if (asked.name == "noisy") return noisy<fairlead_tenants<Grouped>>(asked);
    return std::nullopt;
}

}  // namespace bench::w15
