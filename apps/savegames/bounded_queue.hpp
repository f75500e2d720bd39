// A queue between the callers of a store and its threads: bounded in items and in bytes, and shared by games.
//
// Each game has a lane. Items are taken from the lanes in turn, and in a lane in order; and no lane may fill the queue
// (see budget.hpp). So what a game has queued neither delays nor refuses the items of others, however much it is.
//
// Thread-safe by one mutex; waits on one condition variable. Callers never wait: a full queue
// refuses, so that overload shows at once instead of as memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "savegames/budget.hpp"

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

    // Unless granted, `item` is untouched. A closed queue is exhausted. O(log lanes).
    [[nodiscard]] grant push(std::string game, T& item, std::size_t bytes) {
        const std::lock_guard lock{mutex_};
        if (closed_) return grant::exhausted;
        const auto found = lanes_.find(game);
        if (const grant answer = judge(found, bytes); answer != grant::granted) return answer;
        std::list<entry> added;
        added.push_back({std::move(item), bytes});
        lane& to = lanes_[std::move(game)];
        to.items.splice(to.items.end(), added);  // cannot fail: no lane stays empty
        to.bytes += bytes;
        bytes_ += bytes;
        ++size_;
        // Under the lock: without it the item could be served, and its owner end the queue, before
        // we notify.
        filled_.notify_one();
        return grant::granted;
    }

    // Waits for items; takes as many as fit both bounds, at least one. Empty only when the queue
    // is closed and nothing is left.
    [[nodiscard]] std::vector<T> take(std::size_t count_max, std::size_t bytes_max) {
        std::vector<T> taken;
        std::unique_lock lock{mutex_};
        filled_.wait(lock, [this] { return closed_ || size_ != 0; });
        std::size_t bytes = 0;
        while (size_ != 0 && taken.size() < count_max) {
            const auto at = next_lane();
            lane& from = at->second;
            entry& next = from.items.front();
            if (!taken.empty() && bytes + next.bytes > bytes_max) break;
            bytes += next.bytes;
            from.bytes -= next.bytes;
            bytes_ -= next.bytes;
            --size_;
            taken.push_back(std::move(next.item));
            from.items.pop_front();
            last_ = at->first;
            if (from.items.empty()) lanes_.erase(at);
        }
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
        return size_;
    }

private:
    struct entry {
        T item;
        std::size_t bytes;
    };
    struct lane {
        std::list<entry> items;
        std::size_t bytes = 0;
    };
    using lane_map = std::map<std::string, lane>;

    [[nodiscard]] grant judge(typename lane_map::const_iterator found, std::size_t bytes) const {
        if (size_ == 0) return limits_.items_max == 0 ? grant::exhausted : grant::granted;
        const bool has = found != lanes_.end();
        const grant of_items =
            grant_of(has ? found->second.items.size() : 0, 1, size_, limits_.items_max);
        if (of_items != grant::granted) return of_items;
        return grant_of(has ? found->second.bytes : 0, bytes, bytes_, limits_.bytes_max);
    }

    // In the order of their names, round and round.
    [[nodiscard]] typename lane_map::iterator next_lane() {
        const auto at = lanes_.upper_bound(last_);
        return at != lanes_.end() ? at : lanes_.begin();
    }

    const limits limits_;
    mutable std::mutex mutex_;
    std::condition_variable filled_;
    lane_map lanes_;    // those with items
    std::string last_;  // whose turn was last
    std::size_t size_ = 0;
    std::size_t bytes_ = 0;
    bool closed_ = false;
};

}  // namespace savegames
