// The trivial rival: one mutex, one condition variable, a list. What one writes in five minutes.
#pragma once

#include "support/work_item.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

class trivial_runtime {
public:
    static constexpr const char* name = "trivial";
    using item = work_item;

    explicit trivial_runtime(std::uint64_t workers) {
        for (std::uint64_t i = 0; i != workers; ++i) threads_.emplace_back([this] { work(); });
    }

    ~trivial_runtime() {
        {
            std::lock_guard lock{mutex_};
            stopping_ = true;
        }
        arrived_.notify_all();
        for (std::thread& each : threads_) each.join();
    }

    /// Allocates nothing: the item is linked.
    void post(item& task) {
        {
            std::lock_guard lock{mutex_};
            task.next = nullptr;
            (head_ == nullptr ? head_ : tail_->next) = &task;
            tail_ = &task;
        }
        arrived_.notify_one();
    }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        {
            std::lock_guard lock{mutex_};
            one_shots_.emplace_back(std::forward<Callable>(callable));
        }
        arrived_.notify_one();
    }

private:
    void work() {
        std::unique_lock lock{mutex_};
        for (;;) {
            arrived_.wait(lock,
                          [this] { return stopping_ || head_ != nullptr || !one_shots_.empty(); });
            if (head_ != nullptr) {
                item& task = *head_;
                head_ = task.next;
                lock.unlock();
                task.run(task);
            } else if (!one_shots_.empty()) {
                auto callable = std::move(one_shots_.front());
                one_shots_.pop_front();
                lock.unlock();
                callable();
            } else {
                return;
            }
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    item* head_ = nullptr;
    item* tail_ = nullptr;
    std::deque<std::move_only_function<void()>> one_shots_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace bench
