// Threads that wait for what the workers of a scheduler do, and are told when a stop has ended the
// workers: from then on nothing runs before `start`.
//
// The scheduler and the threads that wait own the object together, because a thread may wait longer
// than the scheduler lives: a task that has moved to another scheduler may end there.
//
// Any thread calls it. The mutex guards all but the number of owners. A watcher is told under the
// mutex, so a watcher that has left is not touched any more.
#pragma once

#include <fairlead/detail/base/list.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <cstdint>
#include <utility>

namespace fairlead::sched {

// A thread that waits.
class halt_watcher {
public:
    halt_watcher() = default;
    halt_watcher(const halt_watcher&) = delete;
    halt_watcher& operator=(const halt_watcher&) = delete;

protected:
    // The workers have ended. Called under the mutex, once at most.
    virtual void workers_ended() noexcept = 0;
    ~halt_watcher() = default;

private:
    friend class halt_watch;
    base::list_links<halt_watcher> links_;
};

class halt_watch {
public:
    // --- a thread that waits -------------------------------------------------------------------

    // False: the workers have ended already, and `who` is not told.
    [[nodiscard]] bool enlist(halt_watcher& who) noexcept;

    // After it `who` is not told, and may go. Also if it was told.
    void leave(halt_watcher& who) noexcept;

    // --- the scheduler -------------------------------------------------------------------------

    // Tells all that wait.
    void end_workers() noexcept;
    void begin_workers() noexcept;

private:
    friend class halt_watch_owner;

    halt_watch() = default;
    ~halt_watch() = default;

    sync::atomic<std::uint32_t> owners_{0};
    sync::mutex mutex_;
    bool ended_ = false;                                        // guarded by mutex_
    base::list<halt_watcher, &halt_watcher::links_> watchers_;  // guarded by mutex_
};

// One of the owners; the last one deletes the object.
class halt_watch_owner {
public:
    // Throws std::bad_alloc.
    [[nodiscard]] static halt_watch_owner make();

    halt_watch_owner() = default;
    halt_watch_owner(const halt_watch_owner& other) noexcept;
    halt_watch_owner(halt_watch_owner&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    halt_watch_owner& operator=(halt_watch_owner other) noexcept {
        std::swap(of_, other.of_);
        return *this;
    }
    ~halt_watch_owner();

    explicit operator bool() const noexcept { return of_ != nullptr; }
    [[nodiscard]] halt_watch* operator->() const noexcept { return of_; }

private:
    halt_watch* of_ = nullptr;
};

}  // namespace fairlead::sched
