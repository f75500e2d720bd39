// All connections: what each is doing, how many there may be, and which ones end to make room.
//
// Every method may be called from any thread. One mutex, held for a list operation. The table knows
// the task of a connection from `sit` until the seat is destroyed; so the task exists while the
// table asks it to stop.
//
// At the limit, the newest connection is accepted already and waits for room; later ones wait in
// the backlog of the kernel. Meanwhile answers say "Connection: close" (see `crowded`), and the
// table ends connections that have been idle, or at the head of one request, for `grace`. It
// chooses between the longest idle connection and the slowest head. It ends the one whose network
// has more connections; of equal networks, the connection that has waited longer. So a crowd is
// served in turns, and a slow head keeps no place from another client.
//
// A network may have a limit of its own. A newcomer from a network at its limit takes the place of
// an idle or slow connection of that network; if there is none, the newcomer is closed.
//
// After `drain`, a connection ends according to its activity:
//
//     busy      The request is whole; it runs, or its answer is being sent. The connection ends
//               after the answer, which says so.
//     reading   Some of a request has come. The connection ends at once: nothing was begun.
//     idle      Nothing has come. The connection ends after `grace`. A client that goes on asking
//               sends its next request before that, which makes the connection busy.
#pragma once

#include <fairlead/sched/task.hpp>
#include <fairlead/wait/event.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "savegames/model.hpp"
#include "savegames/network.hpp"

namespace savegames {

class connection_table {
    enum class activity : std::uint8_t {
        entered,  // it has a place, and has waited for nothing yet
        busy,
        reading_head,
        reading_body,
        idle,
        stopped,  // its task was asked to end
    };

    struct entry {
        fairlead::basic_task* task = nullptr;  // null until the task has started
        network from{};
        time_point since{};  // when it became idle, or began to read a head
        activity at = activity::entered;
    };
    using place = std::list<entry>::iterator;

public:
    static constexpr std::chrono::milliseconds grace{1000};

    struct counters {
        std::size_t open = 0;
        std::size_t idle = 0;  // nothing of a request has come, or their task has yet to begin
        std::size_t limit = 0;
        std::uint64_t accepted = 0;
        std::uint64_t evicted = 0;  // idle and slow connections that were ended to make room
        std::uint64_t refused = 0;  // newcomers that were closed: their network is at its limit
        std::uint64_t waited = 0;   // newcomers that waited for room
    };

    // The place of one connection. The destructor gives it back.
    class seat {
    public:
        seat(connection_table& table, place where) noexcept : table_{&table}, place_{where} {}
        seat(seat&& other) noexcept
            : table_{std::exchange(other.table_, nullptr)}, place_{other.place_} {}
        seat& operator=(seat&&) = delete;
        ~seat() {
            if (table_ != nullptr) table_->leave(place_);
        }

        // Tells the table the task of the connection, once it has started.
        void sit(fairlead::basic_task& task);

        // The connection waits for a request.
        void become_idle(time_point now);

        // The connection has some of a head and waits for the rest. False: it must close, because
        // it was asked to stop, or the service ends. The wait counts from the first call since
        // the connection was busy.
        [[nodiscard]] bool become_reading_head(time_point since);

        // The same for a body. A slow body is never ended to make room.
        [[nodiscard]] bool become_reading_body();

        // The wait has ended. False: the connection must close, because it was asked to stop.
        [[nodiscard]] bool become_busy();

    private:
        connection_table* table_;
        place place_;
    };

    // `limit`: of all connections. `of_network`: of those of one network; 0: no limit.
    explicit connection_table(std::size_t limit, std::size_t of_network = 0)
        : limit_{limit}, of_network_{of_network} {}

    // --- for the task that accepts ---------------------------------------------------------------

    // Whether `from` may have one more connection. If need be, ends an idle or slow connection of
    // the same network. False: close the newcomer. O(connections) at the limit of a network.
    [[nodiscard]] bool admits(const network& from, time_point now);

    // Takes a place for a new connection, if there is room. If not, the caller tries again after
    // `wait_for_room(*retry)`. Throws std::bad_alloc.
    [[nodiscard]] std::optional<seat> enter(time_point now, time_point* retry,
                                            const network& from = {});

    // Waits until a new try may succeed, or until `retry`.
    [[nodiscard]] auto wait_for_room(time_point retry) { return room_.wait(retry); }

    // The task that accepts ends: no newcomer waits.
    void forget_acceptor();

    // --- for connections -------------------------------------------------------------------------

    // Whether an answer should end its connection: a newcomer waits for room, or the service ends.
    [[nodiscard]] bool crowded() const;

    // Whether the service ends.
    [[nodiscard]] bool draining() const;

    // --- for the thread that ends the service ----------------------------------------------------

    // Begins the end of the service. Each connection ends as described at the top.
    void drain(time_point now);

    // After `drain`: waits until all connections have ended or `deadline` has passed, and
    // meanwhile ends each connection that has been idle for `grace`. Returns how many are left.
    std::size_t wait_until_empty(time_point deadline);

    [[nodiscard]] counters count() const;

private:
    void leave(place where);

    // These require mutex_.
    void wake_acceptor();
    void put(place where, activity at);
    void stop_task(place where);
    time_point end_idle(time_point now);
    [[nodiscard]] std::list<entry>& list_of(activity at);
    [[nodiscard]] std::optional<place> first_to_go(time_point now);
    [[nodiscard]] std::size_t open() const;

    const std::size_t limit_;
    const std::size_t of_network_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;  // wakes wait_until_empty
    std::list<entry> entered_;         // those that have waited for nothing yet
    std::list<entry> busy_;            // also those that read a body, or were asked to stop
    std::list<entry> reading_;         // those that read a head, slowest first
    std::list<entry> idle_;            // longest idle first
    std::map<network, std::size_t> of_networks_;
    fairlead::auto_event room_;  // there may be some for the newcomer that waits
    bool newcomer_waits_ = false;
    bool draining_ = false;
    std::uint64_t accepted_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t waited_ = 0;
};

}  // namespace savegames
