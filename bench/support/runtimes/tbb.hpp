// oneTBB: an arena of exactly `workers` threads of its own.
//
// TBB counts the thread that calls it among its threads, so that a limit of N gives N - 1 workers:
// the limit must be workers + 1, and no slot of the arena may be reserved for the caller.
#pragma once

#include "support/work_item.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstdint>
#include <utility>

namespace bench {

class tbb_limits {
protected:
    explicit tbb_limits(std::uint64_t workers)
        : limit_{tbb::global_control::max_allowed_parallelism, workers + 1},
          arena_{static_cast<int>(workers), 0} {}

    tbb::global_control limit_;
    tbb::task_arena arena_;
};

/// Posts with `enqueue`: first in, first out, more or less.
class tbb_runtime : tbb_limits {
public:
    static constexpr const char* name = "tbb";
    using item = work_item;

    explicit tbb_runtime(std::uint64_t workers) : tbb_limits{workers} {}

    void post(item& task) {
        arena_.enqueue([&task] { task.run(task); });
    }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        arena_.enqueue(std::forward<Callable>(callable));
    }
};

/// Posts with a task group: last in, first out on the thread that posts, so not fair: an advantage
/// for the rival. From outside the arena it enqueues.
class tbb_spawn_runtime : tbb_limits {
public:
    static constexpr const char* name = "tbb_spawn";
    using item = work_item;

    explicit tbb_spawn_runtime(std::uint64_t workers) : tbb_limits{workers} {}
    ~tbb_spawn_runtime() {
        arena_.execute([this] { group_.wait(); });
    }

    void post(item& task) {
        post_one_shot([&task] { task.run(task); });
    }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        if (tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized) {
            group_.run(std::forward<Callable>(callable));
        } else {
            arena_.enqueue(group_.defer(std::forward<Callable>(callable)));
        }
    }

private:
    tbb::task_group group_;
};

}  // namespace bench
