// Who is connected, who is idle, and whether there is room: the limit on connections, and the
// means to end those that wait for nothing.
//
// Every method may be called from any thread; one mutex, held for a list operation. Each
// connection's task is known here from `sit` until its seat is gone, so it exists while we ask it
// to stop.
//
// At the limit the newest connection, accepted already, waits for room, and those after it wait in
// the kernel's backlog. Meanwhile answers say "Connection: close" (see `crowded`), and connections
// that were idle for `idle_grace` are closed, longest idle first. So a crowd is served in turns,
// and nobody who behaves sees an error.
#pragma once

#include <fairlead/sched/task.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "savegames/model.hpp"

namespace savegames {

class connection_table {
    struct entry {
        fairlead::basic_task* task = nullptr;  // null until it has started
        time_point idle_since{};
        bool idle = false;
    };

public:
    static constexpr std::chrono::milliseconds idle_grace{1000};

    struct counters {
        std::size_t open = 0;
        std::size_t idle = 0;
        std::size_t limit = 0;
        std::uint64_t accepted = 0;
        std::uint64_t evicted = 0;  // idle ones that made room
        std::uint64_t waited = 0;   // newcomers that had to wait for room
    };

    // The place of one connection; gives it back when destroyed.
    class seat {
    public:
        seat(connection_table& table, std::list<entry>::iterator place) noexcept
            : table_{&table}, place_{place} {}
        seat(seat&& other) noexcept
            : table_{std::exchange(other.table_, nullptr)}, place_{other.place_} {}
        seat& operator=(seat&&) = delete;
        ~seat() {
            if (table_ != nullptr) table_->leave(place_);
        }

        // The task of the connection has started.
        void sit(fairlead::basic_task& task);

        // It waits for a request. False: the service ends, so it must not.
        [[nodiscard]] bool become_idle(time_point now);

        // Its wait has ended. False: it was asked to stop meanwhile, so it must close.
        [[nodiscard]] bool become_busy();

    private:
        connection_table* table_;
        std::list<entry>::iterator place_;
    };

    explicit connection_table(std::size_t limit) : limit_{limit} {}

    // --- for the task that accepts --------------------------------------------------------------

    // A place for a new connection, if there is room. If not, `acceptor` is signalled when it is
    // worth to try again, and should try at `*retry` in any case. Throws std::bad_alloc.
    [[nodiscard]] std::optional<seat> enter(fairlead::basic_task& acceptor, time_point now,
                                            time_point* retry);

    // The task that accepts ends: it is not signalled any more.
    void forget_acceptor();

    // --- for connections ------------------------------------------------------------------------

    // Whether answers should end their connections: somebody waits for room, or the service ends.
    [[nodiscard]] bool crowded() const;

    // --- for whoever ends the service -----------------------------------------------------------

    // Ends the idle connections now, the others after the request that they are at.
    void drain();

    // Waits until nobody is connected or `deadline` has passed; returns how many are.
    std::size_t wait_until_empty(time_point deadline);

    [[nodiscard]] counters count() const;

private:
    void leave(std::list<entry>::iterator place);
    void wake_acceptor();  // requires mutex_

    const std::size_t limit_;
    mutable std::mutex mutex_;
    std::condition_variable emptied_;
    std::list<entry> busy_;
    std::list<entry> idle_;  // longest idle first
    fairlead::basic_task* acceptor_ = nullptr;
    bool draining_ = false;
    std::uint64_t accepted_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t waited_ = 0;
};

}  // namespace savegames
