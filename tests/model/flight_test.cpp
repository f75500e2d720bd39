// Flights that several threads share. Threads join, leave and end them, with every order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/sync/flight.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace fairlead::flight_tests {
namespace {

using model::bell_wait;
using model::plain;
using model::require;

using wait = bell_wait<sync::waiter>;

// A table with one key.
struct table {
    sync::mutex mutex{};
    std::shared_ptr<sync::flight> in_air{};
    int began = 0;
    int stopped = 0;

    std::shared_ptr<sync::flight> join() {
        const std::lock_guard lock{mutex};
        if (in_air == nullptr) {
            in_air = std::make_shared<sync::flight>(mutex);
            ++began;
        }
        in_air->join();
        return in_air;
    }

    void leave(const std::shared_ptr<sync::flight>& of) {
        const std::lock_guard lock{mutex};
        if (!of->leave()) return;
        require(in_air == of, "what has a user and no result is in the table");
        in_air = nullptr;
        ++stopped;
    }

    void end(const std::shared_ptr<sync::flight>& of) {
        sync::waiter_list ended;
        {
            const std::lock_guard lock{mutex};
            if (in_air == of) in_air = nullptr;
            of->end(ended);
        }
        ended.tell_all();
    }
};

TEST(ModelFlight, AllThatJoinSeeTheResult) {
    model::expect_passes([] {
        table flights;
        plain<int> result{0};
        const auto first = flights.join();
        const auto second = flights.join();
        const auto gets = [&](const std::shared_ptr<sync::flight>& mine) {
            require(wait{}.ask(*mine), "the flight has ended");
            require(result == 1, "the result is seen");
            flights.leave(mine);
        };
        model::in_threads(
            [&] {
                result = 1;
                flights.end(first);
            },
            [&] { gets(first); }, [&] { gets(second); });
        require(flights.stopped == 0 && flights.began == 1, "one flight, which has ended");
    });
}

// cockroach#91038: one user gives up, another waits on.
TEST(ModelFlight, AUserThatGivesUpStopsNoFlightOfAnother) {
    model::expect_passes([] {
        table flights;
        plain<int> result{0};
        const auto first = flights.join();
        const auto second = flights.join();
        wait given_up;
        require(first->enter(given_up), "it waits");
        bool gone = false;
        model::in_threads(
            [&] {
                result = 1;
                flights.end(first);
            },
            [&] {
                gone = first->withdraw(given_up);
                if (!gone) given_up.wait_for_end();
                flights.leave(first);
            },
            [&] {
                require(wait{}.ask(*second), "the flight has ended");
                require(result == 1, "the result is seen");
                flights.leave(second);
            });
        require(gone != given_up.was_told(), "one of the two");
        require(flights.stopped == 0, "the flight had a user until its end");
    });
}

// tailscale#18919: the last user leaves while a new one comes and the flight ends.
TEST(ModelFlight, ANewUserNeverJoinsAFlightThatWasAskedToStop) {
    model::expect_passes([] {
        table flights;
        const auto first = flights.join();
        std::shared_ptr<sync::flight> second;
        model::in_threads([&] { flights.leave(first); }, [&] { second = flights.join(); },
                          [&] { flights.end(first); });
        require(second != first || flights.stopped == 0, "it was not stopped");
        require(flights.began == (second == first ? 1 : 2), "the table has what can be joined");
        if (second != first) flights.end(second);
        require(wait{}.ask(*second), "the flight has ended");
        flights.leave(second);
        require(flights.in_air == nullptr, "nothing is left in the table");
    });
}

}  // namespace
}  // namespace fairlead::flight_tests
