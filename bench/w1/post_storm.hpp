// W1, post storm: producers outside the runtime post `count` empty tasks each; the clock stops when
// the last one ran. Three cases:
//
//     callback    tasks that the user owns and made before: posting allocates nothing
//     one_shot    a lambda a task
//     coroutine   a coroutine a task
//
// A tenth of the tasks run once before the measurement, so that threads and allocator are warm.
// Memory is that of the process at its peak, the tasks included.
#pragma once

#include "support/detached.hpp"
#include "support/options.hpp"
#include "support/result.hpp"
#include "support/tally.hpp"
#include "support/threads.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace bench::w1 {

/// Runs post(producer, index) for each index below `count` in each producer, and waits for the last
/// task.
template <class Post>
measurement storm(std::uint64_t producers, std::uint64_t count, Post post) {
    const std::uint64_t target = tally::total() + producers * count;
    starting_line posting{producers, [&](std::size_t producer) {
                              for (std::uint64_t i = 0; i != count; ++i) post(producer, i);
                          }};
    const stopwatch watch;
    posting.go();
    tally::wait_for_total(target);
    const measurement found = watch.per_item(producers * count);
    posting.join();
    return found;
}

template <class Post>
measurement warm_storm(const options& asked, Post post) {
    storm(asked.producers, asked.count / 10, post);
    return storm(asked.producers, asked.count, post);
}

template <class Runtime>
struct counting_item : Runtime::item {
    counting_item() : Runtime::item{[](typename Runtime::item&) { tally::add(); }} {}
};

template <class Runtime>
detached counting_coroutine(Runtime& runtime) {
    co_await move_to<Runtime>{runtime};
    tally::add();
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    using item = counting_item<Runtime>;
    std::vector<std::unique_ptr<item[]>> items;  // outlives the runtime
    Runtime runtime{asked.workers};
    if (asked.name == "callback") {
        for (std::uint64_t i = 0; i != asked.producers; ++i) {
            items.push_back(std::make_unique<item[]>(asked.count));
        }
        return warm_storm(asked, [&](std::size_t producer, std::uint64_t index) {
            runtime.post(items[producer][index]);
        });
    }
    if (asked.name == "one_shot") {
        return warm_storm(asked, [&](std::size_t, std::uint64_t) {
            runtime.post_one_shot([] { tally::add(); });
        });
    }
    if (asked.name == "coroutine") {
        return warm_storm(asked, [&](std::size_t, std::uint64_t) {
            if constexpr (requires { runtime.spawn_coroutine([] { tally::add(); }); }) {
                runtime.spawn_coroutine([] { tally::add(); });
            } else {
                counting_coroutine(runtime);
            }
        });
    }
    return std::nullopt;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W1", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w1
