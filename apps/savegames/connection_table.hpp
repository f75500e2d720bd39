// Who is connected, who is idle, and whether there is room: the limit on connections, and the
// means to end those that wait for nothing.
//
// Every method may be called from any thread; one mutex, held for a list operation. Each
// connection's task is known here from `sit` until its seat is gone, so it exists while we ask it
// to stop.
//
// At the limit the newest connection, accepted already, waits for room, and those after it wait in
// the kernel's backlog. Meanwhile answers say "Connection: close" (see `crowded`), and connections
// are closed that were idle, or at the head of one request, for `grace`: of the longest idle one
// and the slowest head the one whose network has more connections, and if these are equal the one
// that waits longer. So a crowd is served in turns, and slow heads keep no place from other
// clients.
//
// A network may have a limit of its own. A newcomer from a network at its limit takes the place of
// a connection of that network that is idle or slow, or is closed.
//
// When the service ends (`drain`), a connection ends by what it is at:
//
//     busy      a request is whole, it runs or is answered: after its answer, which says that the
//               connection ends
//     reading   some of a request has come: at once, nothing was begun
//     idle      nothing has come: when it was idle for `grace`. A client that goes on asking has
//               sent its next request by then, which makes the connection busy.
#pragma once

#include <fairlead/sched/task.hpp>

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
        busy,
        reading_head,
        reading_body,
        idle,
        stopped,  // it was asked to end
    };

    struct entry {
        fairlead::basic_task* task = nullptr;  // null until it has started
        network from{};
        time_point since{};  // idle or reading a head since then
        activity at = activity::busy;
    };
    using place = std::list<entry>::iterator;

public:
    static constexpr std::chrono::milliseconds grace{1000};

    struct counters {
        std::size_t open = 0;
        std::size_t idle = 0;
        std::size_t limit = 0;
        std::uint64_t accepted = 0;
        std::uint64_t evicted = 0;  // idle and slow ones that made room
        std::uint64_t refused = 0;  // newcomers from networks at their limit
        std::uint64_t waited = 0;   // newcomers that had to wait for room
    };

    // The place of one connection; gives it back when destroyed.
    class seat {
    public:
        seat(connection_table& table, place where) noexcept : table_{&table}, place_{where} {}
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

        // It has some of a head, and waits for the rest. False: it was asked to stop meanwhile, or
        // the service ends; so it must close. Until it is busy again it counts from the first call.
        [[nodiscard]] bool become_reading_head(time_point since);

        // The same for a body, which makes no room for other connections however slow it is.
        [[nodiscard]] bool become_reading_body();

        // Its wait has ended. False: it was asked to stop meanwhile, so it must close.
        [[nodiscard]] bool become_busy();

    private:
        connection_table* table_;
        place place_;
    };

    // `of_network`: how many connections one network may have; 0: as many as there are places.
    explicit connection_table(std::size_t limit, std::size_t of_network = 0)
        : limit_{limit}, of_network_{of_network} {}

    // --- for the task that accepts --------------------------------------------------------------

    // Whether `from` may have one more connection. Ends an idle or slow one of the same network for
    // it if need be. False: the newcomer is to be closed. O(connections) at the limit of a network.
    [[nodiscard]] bool admits(const network& from, time_point now);

    // A place for a new connection, if there is room. If not, `acceptor` is signalled when it is
    // worth to try again, and should try at `*retry` in any case. Throws std::bad_alloc.
    [[nodiscard]] std::optional<seat> enter(fairlead::basic_task& acceptor, time_point now,
                                            time_point* retry, const network& from = {});

    // The task that accepts ends: it is not signalled any more.
    void forget_acceptor();

    // --- for connections ------------------------------------------------------------------------

    // Whether answers should end their connections: somebody waits for room, or the service ends.
    [[nodiscard]] bool crowded() const;

    // Whether the service ends.
    [[nodiscard]] bool draining() const;

    // --- for whoever ends the service -----------------------------------------------------------

    // The service ends. Each connection ends as told above.
    void drain(time_point now);

    // After `drain`: ends the connections that are idle for long enough now, and waits until none
    // is there or `deadline` has passed; returns how many are.
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
    std::condition_variable changed_;  // for wait_until_empty
    std::list<entry> busy_;            // and those that read a body, or were asked to stop
    std::list<entry> reading_;         // those that read a head, slowest first
    std::list<entry> idle_;            // longest idle first
    std::map<network, std::size_t> of_networks_;
    fairlead::basic_task* acceptor_ = nullptr;
    bool draining_ = false;
    std::uint64_t accepted_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t waited_ = 0;
};

}  // namespace savegames
