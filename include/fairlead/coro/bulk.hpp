// The protocol of for_each: one coroutine waits for a loop, whose indices are claimed in chunks by
// the workers that are idle.
//
//     the parent's step     offers a helper, then claims a chunk and runs it, and so on
//     an idle worker        takes the helper, which does the same, and offers the next one
//     the slice is over     a helper is posted in the parent's place and has its turn like any task
//     no chunk is left      each takes back what it has offered, and leaves; the last one completes
//                           the parent
//
// No thread waits for work that has not begun: the parent takes an offer back that no worker has
// taken, and the worker that claims a chunk runs it at once. So a loop ends however few workers are
// free, and whatever encloses it.
//
// Invariants
//   1. `next_` only grows, up to `count_`; [0, next_) is claimed, each chunk by one. A stop and a
//      failure claim the rest at once, and the rest does not run.
//   2. `active_` counts the parent, until it waits, and the helpers that are offered, posted or at
//      work. While it is not 0 the loop exists.
//   3. While there is something to claim, the parent or a helper is at work, or a helper is posted.
//      The first helper lies in the loop, so this needs no memory.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/sched/task.hpp>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>

namespace fairlead {

/// How a loop is divided.
struct bulk_options {
    /// So many indices are claimed at once at least: a loop that is not longer is one plain loop.
    /// Worth setting if loops are short and their bodies tiny.
    std::size_t grain = 1;

    /// How long the loop keeps a worker until other tasks have their turn. A chunk is to take an
    /// eighth of it, by what those before it took. Less is fairer, evens out unequal bodies better,
    /// and costs more claims.
    duration slice = std::chrono::microseconds{200};
};

namespace coro {

class bulk;

// A task that claims chunks in a step of its own: offered to idle workers, or posted.
class bulk_helper final : public basic_task, public sched::forked, public sync::recycled {
public:
    bulk_helper(bulk& loop, std::uint32_t depth) noexcept
        : basic_task{kind, "for_each", depth}, loop_{loop} {}

    [[nodiscard]] basic_task& detach() noexcept override { return *this; }
    [[nodiscard]] executor target() const noexcept override;

private:
    static const task_kind kind;
    static void run(basic_task& task) noexcept;
    static void abandon(basic_task& task) noexcept;

    bulk& loop_;
};

class bulk : public awaited_operation {
public:
    bulk(const bulk&) = delete;
    bulk& operator=(const bulk&) = delete;

protected:
    // Runs the body for these indices, on any worker. May throw.
    using visitor = void (*)(const bulk& loop, std::size_t begin, std::size_t end);

    bulk(std::size_t count, visitor visit, bulk_options wanted) noexcept;
    ~bulk() = default;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    // Suspends `leaf`, and claims until nothing is left or the slice is over. False: all have ended
    // already.
    [[nodiscard]] bool start(std::coroutine_handle<> leaf, frame_link& link) noexcept;

    // All have ended.
    void finish();

private:
    friend class bulk_helper;

    struct chunk {
        std::size_t begin;
        std::size_t end;
    };
    class claimant;

    [[nodiscard]] bool interrupt(interruption why) noexcept override {
        if (why != interruption::deadline) cut();
        return false;
    }

    [[nodiscard]] chunk claim(std::size_t wanted) noexcept;
    void run(chunk claimed) noexcept;
    void cut() noexcept;
    [[nodiscard]] bool has_rest() const noexcept { return next_.load(sync::relaxed) != count_; }

    [[nodiscard]] bulk_helper* make_helper() noexcept;
    void discard(bulk_helper& untaken) noexcept;
    void helper_ended(bulk_helper& ended) noexcept;

    // True: the caller was the last, and all chunks have ended.
    [[nodiscard]] bool leave() noexcept {
        // [BK1] release: publishes what the bodies wrote, or that the parent waits; acquire: the
        // last one has seen all of it.
        return active_.fetch_sub(1, sync::acq_rel) == 1;
    }

    const visitor visit_;
    const std::size_t count_;
    const std::size_t grain_;
    const duration slice_;
    root* parent_ = nullptr;
    std::size_t workers_ = 1;
    std::optional<bulk_helper> first_;  // the parent makes it
    bool was_cut_ = false;              // by a stop; the parent's

    // Relaxed throughout: a claim only needs that no other claim gets the same chunk.
    sync::atomic<std::size_t> next_{0};
    sync::atomic<std::size_t> active_{1};

    sync::mutex mutex_;
    std::size_t failed_at_ = std::numeric_limits<std::size_t>::max();  // guarded by mutex_
    std::exception_ptr failure_;  // guarded by mutex_ until all have left
};

}  // namespace coro
}  // namespace fairlead
