// moodycamel's blocking queue in a plain pool. Its order is per producer only, which Fairlead's is
// not: an advantage for the rival.
#pragma once

#include "support/work_item.hpp"

#include <concurrentqueue/blockingconcurrentqueue.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

class moodycamel_runtime {
public:
    static constexpr const char* name = "moodycamel";
    using item = work_item;

    explicit moodycamel_runtime(std::uint64_t workers) {
        for (std::uint64_t i = 0; i != workers; ++i) {
            threads_.emplace_back([this] { work_on_items(); });
            threads_.emplace_back([this] { work_on_one_shots(); });
        }
    }

    ~moodycamel_runtime() {
        for (std::size_t i = 0; i != threads_.size() / 2; ++i) {
            items_.enqueue(nullptr);
            one_shots_.enqueue({});
        }
        for (std::thread& each : threads_) each.join();
    }

    void post(item& task) { items_.enqueue(&task); }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        one_shots_.enqueue(one_shot{std::forward<Callable>(callable)});
    }

private:
    using one_shot = std::move_only_function<void()>;

    // A run uses one of the two queues; the threads of the other sleep all the time.
    void work_on_items() {
        moodycamel::ConsumerToken token{items_};
        for (item* task = nullptr;;) {
            items_.wait_dequeue(token, task);
            if (task == nullptr) return;
            task->run(*task);
        }
    }

    void work_on_one_shots() {
        moodycamel::ConsumerToken token{one_shots_};
        for (one_shot callable;;) {
            one_shots_.wait_dequeue(token, callable);
            if (!callable) return;
            callable();
        }
    }

    moodycamel::BlockingConcurrentQueue<item*> items_;
    moodycamel::BlockingConcurrentQueue<one_shot> one_shots_;
    std::vector<std::thread> threads_;
};

}  // namespace bench
