// W4, recursive: `count` tasks are posted from outside, and each posts `count` empty ones; until
// the last ran. Nanoseconds for one task. Cases:
//
//     callback    tasks that the user owns and made before: posting allocates nothing
//     one_shot    a lambda a task
//
// A tenth of the parents run once before the measurement.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"
#include "support/tally.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace bench::w4 {

template <class Runtime>
struct child : Runtime::item {
    child() : Runtime::item{[](typename Runtime::item&) { tally::add(); }} {}
};

template <class Runtime>
struct parent : Runtime::item {
    parent()
        : Runtime::item{
              [](typename Runtime::item& self) { static_cast<parent&>(self).run_step(); }} {}

    void own(Runtime& where, std::uint64_t children) {
        runtime = &where;
        count = children;
        owned = std::make_unique<child<Runtime>[]>(children);
    }

    void run_step() {
        for (std::uint64_t i = 0; i != count; ++i) runtime->post(owned[i]);
        tally::add();
    }

    Runtime* runtime = nullptr;
    std::uint64_t count = 0;
    std::unique_ptr<child<Runtime>[]> owned;
};

/// Calls post_parent(index) for `parents`, and waits for all of them and their children.
template <class Post>
measurement run_parents(std::uint64_t parents, std::uint64_t children, Post post_parent) {
    const std::uint64_t tasks = parents * (1 + children);
    const std::uint64_t target = tally::total() + tasks;
    const stopwatch watch;
    for (std::uint64_t i = 0; i != parents; ++i) post_parent(i);
    tally::wait_for_total(target);
    return watch.per_item(tasks);
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    const std::uint64_t count = asked.count;
    std::vector<parent<Runtime>> parents;  // outlives the runtime
    Runtime runtime{asked.workers};
    const auto warm_run = [&](auto post_parent) {
        run_parents(count / 10, count, post_parent);
        return run_parents(count, count, post_parent);
    };
    if (asked.name == "callback") {
        parents = std::vector<parent<Runtime>>(count);
        for (parent<Runtime>& each : parents) each.own(runtime, count);
        return warm_run([&](std::uint64_t index) { runtime.post(parents[index]); });
    }
    if (asked.name == "one_shot") {
        return warm_run([&](std::uint64_t) {
            runtime.post_one_shot([&runtime, count] {
                for (std::uint64_t i = 0; i != count; ++i) {
                    runtime.post_one_shot([] { tally::add(); });
                }
                tally::add();
            });
        });
    }
    return std::nullopt;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W4", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w4
