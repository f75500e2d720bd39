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
//
// When the service ends (`drain`), a connection ends by what it is at:
//
//     busy      a request is whole, it runs or is answered: after its answer, which says that the
//               connection ends
//     reading   some of a request has come: at once, nothing was begun
//     idle      nothing has come: when it was idle for `idle_grace`. A client that goes on asking
//               has sent its next request by then, which makes the connection busy.
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
    enum class activity : std::uint8_t {
        busy,
        reading,
        idle,
        stopped,  // it was asked to end
    };

    struct entry {
        fairlead::basic_task* task = nullptr;  // null until it has started
        time_point idle_since{};
        activity at = activity::busy;
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

        // It waits for a request.
        void become_idle(time_point now);

        // It waits for the rest of a request. False: it was asked to stop meanwhile, or the service
        // ends; so it must close.
        [[nodiscard]] bool become_reading();

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

    // The service ends. Each connection ends as told above.
    void drain(time_point now);

    // After `drain`: ends the connections that are idle for long enough now, and waits until none
    // is there or `deadline` has passed; returns how many are.
    std::size_t wait_until_empty(time_point deadline);

    [[nodiscard]] counters count() const;

private:
    void leave(std::list<entry>::iterator place);

    // These require mutex_.
    void wake_acceptor();
    void stop_task(std::list<entry>::iterator place);
    time_point end_idle(time_point now);

    const std::size_t limit_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;  // for wait_until_empty
    std::list<entry> busy_;            // and those that read, or were asked to stop
    std::list<entry> idle_;            // longest idle first
    fairlead::basic_task* acceptor_ = nullptr;
    bool draining_ = false;
    std::uint64_t accepted_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t waited_ = 0;
};

}  // namespace savegames
