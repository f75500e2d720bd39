// The updater: tasks belong to threads by turns, and each thread looks for its tasks once in a
// period. What many game servers have; nothing wakes a thread that is not looking.
#pragma once

#include "support/work_item.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace bench {

class updater_runtime {
public:
    static constexpr const char* name = "updater";
    using item = work_item;

    explicit updater_runtime(std::uint64_t workers) {
        for (std::uint64_t i = 0; i != workers; ++i) threads_.emplace_back(stopping_);
    }

    ~updater_runtime() { stopping_.store(true, std::memory_order_relaxed); }

    void post(item& task) {
        threads_[turn_.fetch_add(1, std::memory_order_relaxed) % threads_.size()].post(task);
    }

private:
    static constexpr std::chrono::milliseconds period{1};

    class thread {
    public:
        explicit thread(const std::atomic<bool>& stopping)
            : stopping_{stopping}, thread_{[this] { work(); }} {}
        ~thread() { thread_.join(); }

        void post(item& task) {
            std::lock_guard lock{mutex_};
            arrived_.push_back(&task);
        }

    private:
        void work() {
            std::deque<item*> mine;
            while (!stopping_.load(std::memory_order_relaxed)) {
                {
                    std::lock_guard lock{mutex_};
                    std::swap(mine, arrived_);
                }
                for (item* const task : mine) task->run(*task);
                mine.clear();
                std::this_thread::sleep_for(period);
            }
        }

        const std::atomic<bool>& stopping_;
        std::mutex mutex_;
        std::deque<item*> arrived_;
        std::thread thread_;
    };

    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> turn_{0};
    std::deque<thread> threads_;
};

}  // namespace bench
