// A queue between the callers of a store and its threads: bounded in items and in bytes.
//
// Thread-safe by one mutex; waits on one condition variable. Callers never wait: a full queue
// refuses, so that overload shows at once instead of as memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace savegames {

template <class T>
class bounded_queue {
public:
    struct limits {
        std::size_t items_max;
        std::size_t
            bytes_max;  // of payload, as told to `push`; one item always fits an empty queue
    };

    explicit bounded_queue(limits bound) : limits_{bound} {}

    // False, and `item` untouched, when the queue is full or closed.
    [[nodiscard]] bool push(T& item, std::size_t bytes) {
        const std::lock_guard lock{mutex_};
        if (closed_ || items_.size() >= limits_.items_max) return false;
        if (!items_.empty() && bytes_ + bytes > limits_.bytes_max) return false;
        items_.push_back({std::move(item), bytes});
        bytes_ += bytes;
        // Under the lock: without it the item could be served, and its owner end the queue, before
        // we notify.
        filled_.notify_one();
        return true;
    }

    // Waits for items; takes as many as fit both bounds, at least one. Empty only when the queue
    // is closed and nothing is left.
    [[nodiscard]] std::vector<T> take(std::size_t count_max, std::size_t bytes_max) {
        std::vector<T> taken;
        std::unique_lock lock{mutex_};
        filled_.wait(lock, [this] { return closed_ || !items_.empty(); });
        std::size_t bytes = 0;
        while (!items_.empty() && taken.size() < count_max) {
            entry& next = items_.front();
            if (!taken.empty() && bytes + next.bytes > bytes_max) break;
            bytes += next.bytes;
            taken.push_back(std::move(next.item));
            items_.pop_front();
        }
        bytes_ -= bytes;
        return taken;
    }

    // No more pushes. What is queued can still be taken.
    void close() {
        {
            const std::lock_guard lock{mutex_};
            closed_ = true;
        }
        filled_.notify_all();
    }

    [[nodiscard]] bool closed() const {
        const std::lock_guard lock{mutex_};
        return closed_;
    }

    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock{mutex_};
        return items_.size();
    }

private:
    struct entry {
        T item;
        std::size_t bytes;
    };

    const limits limits_;
    mutable std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<entry> items_;
    std::size_t bytes_ = 0;
    bool closed_ = false;
};

}  // namespace savegames
