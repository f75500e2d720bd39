// A queue between the callers of a store and the threads of that store. It is bounded in items and
// in bytes, and all games share it.
//
// Each game has a lane. The queue takes one item from each lane in turn, and the items of one lane
// in order. No lane may fill the queue (see budget.hpp). So the items of one game, however many,
// neither delay nor refuse the items of another game.
//
// Thread-safe by one mutex. A full queue refuses an item: overload shows at once, not as growing
// memory.
//
// `push` is called by workers of a scheduler, and a worker that waits for a lock runs no task. So
// under the mutex the queue allocates and frees nothing, moves only pointers, and wakes no thread.
// A woken thread could take the processor of the thread that holds the mutex; every caller would
// then wait until the kernel lets that thread go on. `push` and `take` therefore allocate before
// they lock the mutex, and free after they unlock it.
//
// Rejected: a channel, which has one order for all games; a condition variable: in glibc,
// notify_one makes its caller wait in the kernel until threads that were notified earlier have run.
//
// Destroy a queue only after every call of `push` has returned: `push` may wake a taker after that
// taker's item has been served.
#pragma once

#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "savegames/budget.hpp"
#include "savegames/model.hpp"

namespace savegames {

template <class T>
class bounded_queue {
public:
    struct limits {
        std::size_t items_max;
        std::size_t bytes_max;  // of payload, as passed to `push`; an empty queue takes any item
    };

    explicit bounded_queue(limits bound) : limits_{bound} {
        last_.reserve(id_size_max);  // names of games are assigned to it under the mutex
    }

    // Queues `item`. Unless the answer is `granted`, `item` is unchanged. A closed queue answers
    // `exhausted`. O(log lanes). Throws std::bad_alloc.
    [[nodiscard]] grant push(std::string game, T& item, std::size_t bytes) {
        std::list<entry> added;
        added.push_back({std::nullopt, bytes});
        lane_map fresh;
        fresh.try_emplace(std::move(game));
        entry& made = added.back();
        made.item.emplace(std::move(item));
        const grant answer = add(added, fresh);
        if (answer == grant::granted) {
            filled_.set();
        } else {
            item = std::move(*made.item);
        }
        return answer;
    }

    // Waits for items, and appends to `to` as many as fit both bounds, but at least one. `to` is
    // empty and has room for `count_max`. Appends nothing only if the queue is closed and empty.
    // Allocates nothing.
    void take(std::vector<T>& to, std::size_t count_max, std::size_t bytes_max) {
        std::list<entry> taken;
        lane_map emptied;
        while (!pick({count_max, bytes_max}, taken, emptied)) {
            static_cast<void>(filled_.wait_blocking());
        }
        for (entry& each : taken) to.push_back(std::move(*each.item));
    }

    // Ends `push`. Items that are queued can still be taken.
    void close() {
        {
            const std::lock_guard lock{mutex_};
            closed_ = true;
        }
        filled_.set();
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
        std::optional<T> item;
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

    // Moves `added`, one item, into its lane. `fresh` becomes the lane if there is none yet. Only
    // nodes of lists and maps move.
    grant add(std::list<entry>& added, lane_map& fresh) {
        const std::size_t bytes = added.front().bytes;
        const std::lock_guard lock{mutex_};
        if (closed_) return grant::exhausted;
        auto at = lanes_.find(fresh.begin()->first);
        if (const grant answer = judge(at, bytes); answer != grant::granted) return answer;
        if (at == lanes_.end()) at = lanes_.insert(fresh.extract(fresh.begin())).position;
        lane& to = at->second;
        to.items.splice(to.items.end(), added);
        to.bytes += bytes;
        bytes_ += bytes;
        ++size_;
        return grant::granted;
    }

    // Moves items from the lanes to `taken`, and empty lanes to `emptied`. False: there was none,
    // and more may come.
    bool pick(limits bound, std::list<entry>& taken, lane_map& emptied) {
        bool is_last = true;
        {
            const std::lock_guard lock{mutex_};
            if (size_ == 0 && !closed_) return false;
            move_items(bound, taken, emptied);
            is_last = size_ == 0 && !closed_;
        }
        // One `set` may stand for several pushes, and for the end of all takers.
        if (!is_last) filled_.set();
        return true;
    }

    // Requires mutex_.
    void move_items(limits bound, std::list<entry>& taken, lane_map& emptied) {
        std::size_t bytes = 0;
        while (size_ != 0 && taken.size() < bound.items_max) {
            const auto at = next_lane();
            lane& from = at->second;
            const std::size_t more = from.items.front().bytes;
            if (!taken.empty() && bytes + more > bound.bytes_max) break;
            bytes += more;
            from.bytes -= more;
            bytes_ -= more;
            --size_;
            taken.splice(taken.end(), from.items, from.items.begin());
            last_ = at->first;
            if (from.items.empty()) emptied.insert(lanes_.extract(at));
        }
    }

    // The lane after the latest one, in the order of names; after the last name, the first.
    [[nodiscard]] typename lane_map::iterator next_lane() {
        const auto at = lanes_.upper_bound(last_);
        return at != lanes_.end() ? at : lanes_.begin();
    }

    const limits limits_;
    mutable std::mutex mutex_;
    fairlead::auto_event filled_;  // items are there, or the queue is closed
    lane_map lanes_;               // each has items
    std::string last_;             // the lane that had the latest turn
    std::size_t size_ = 0;
    std::size_t bytes_ = 0;
    bool closed_ = false;
};

}  // namespace savegames
