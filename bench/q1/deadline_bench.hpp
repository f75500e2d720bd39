// Q1, deadlines: which sleeper is due next? Two cases:
//
//     sleepers   `count` sleepers over 0 ... 1 s are set in random order, then popped in order
//     cancel     beside 100,000 sleepers, `count` are set, and each is cancelled when 1,000 more
//                were set after it: time-outs that do not strike
//
// A container offers push(sleeper&), pop() (the first one or null), and erase(sleeper&) for the
// second case; `resolution`, if it has one, is the time within which it keeps no order.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"

#include <fairlead/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace bench::q1 {

struct sleeper {
    fairlead::time_point deadline;
    std::int32_t index = -1;  // of a heap, or the slot of a wheel
    sleeper* next = nullptr;  // in the slot of a wheel
    sleeper* previous = nullptr;
    std::multimap<fairlead::time_point, sleeper*>::iterator entry;  // of the ordered map
};

/// The same deadlines for every candidate: uniform over 0 ... 1 s, in random order.
inline std::vector<sleeper> random_sleepers(std::uint64_t count) {
    std::vector<sleeper> all(count);
    std::uint64_t state = 1;
    for (sleeper& each : all) {  // splitmix64
        std::uint64_t mixed = state += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        mixed ^= mixed >> 31;
        each.deadline = fairlead::time_point{std::chrono::nanoseconds{mixed % 1'000'000'000u}};
    }
    return all;
}

template <class Container>
constexpr fairlead::duration resolution_of() {
    if constexpr (requires { Container::resolution; }) return Container::resolution;
    return fairlead::duration{1};
}

template <class Container>
measurement sleepers_bench(const options& asked) {
    std::vector<sleeper> all = random_sleepers(asked.count);
    Container container;
    const stopwatch watch;
    for (sleeper& each : all) container.push(each);
    constexpr auto resolution = resolution_of<Container>();
    std::uint64_t popped = 0;
    std::uint64_t sum = 0;
    bool in_order = true;
    fairlead::time_point latest{};
    while (sleeper* const first = container.pop()) {
        in_order = in_order && first->deadline + resolution > latest;
        latest = first->deadline;
        sum += static_cast<std::uint64_t>(first - all.data());
        ++popped;
    }
    measurement found = watch.per_item(asked.count);
    if (!in_order) found.failure = "a sleeper came after a later one";
    if (popped != asked.count || sum != popped * (popped - 1) / 2) {
        found.failure = "a sleeper was lost or came twice";
    }
    return found;
}

template <class Container>
measurement cancel_bench(const options& asked) {
    constexpr std::size_t standing = 100'000;
    constexpr std::size_t in_flight = 1'000;
    std::vector<sleeper> standing_ones = random_sleepers(standing);
    std::vector<sleeper> fleeting = random_sleepers(asked.count);
    Container container;
    for (sleeper& each : standing_ones) container.push(each);
    const stopwatch watch;
    for (std::size_t i = 0; i != fleeting.size(); ++i) {
        container.push(fleeting[i]);
        if (i >= in_flight) container.erase(fleeting[i - in_flight]);
    }
    measurement found = watch.per_item(asked.count);
    std::size_t left = 0;
    while (container.pop() != nullptr) ++left;
    if (left != standing + std::min(in_flight, fleeting.size())) {
        found.failure = "a cancelled sleeper was left, or another one lost";
    }
    return found;
}

}  // namespace bench::q1
