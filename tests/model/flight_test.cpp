// Flights that several threads share. Threads join, leave and end them, with every order of steps.
#include "model/bell.hpp"
#include "model/explore.hpp"

#include <fairlead/detail/sync/flight.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace fairlead {
namespace {

using model::bell;
using model::plain;
using model::require;

class wait final : public sync::waiter {
public:
    bool begin(sync::flight& of) { return of.enter(*this); }
    void wait_for_end() { ended_.wait(); }

    void ask(sync::flight& of) {
        if (begin(of)) wait_for_end();
        require(was_granted(), "the flight has ended");
    }

    [[nodiscard]] bool was_told() const { return was_told_; }

private:
    void tell() noexcept override {
        require(!was_told_, "a wait ends once");
        was_told_ = true;
        ended_.ring();
    }

    plain<bool> was_told_{false};
    bell ended_;
};

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
    model::expect_passes({.preemptions = 2}, [] {
        table flights;
        plain<int> result{0};
        const auto first = flights.join();
        const auto second = flights.join();
        const auto gets = [&](const std::shared_ptr<sync::flight>& mine) {
            wait{}.ask(*mine);
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
    model::expect_passes({.preemptions = 2}, [] {
        table flights;
        plain<int> result{0};
        const auto first = flights.join();
        const auto second = flights.join();
        wait given_up;
        require(given_up.begin(*first), "it waits");
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
                wait{}.ask(*second);
                require(result == 1, "the result is seen");
                flights.leave(second);
            });
        require(gone != given_up.was_told(), "one of the two");
        require(flights.stopped == 0, "the flight had a user until its end");
    });
}

// tailscale#18919: the last user leaves while a new one comes and the flight ends.
TEST(ModelFlight, ANewUserNeverJoinsAFlightThatWasAskedToStop) {
    model::expect_passes({.preemptions = 2}, [] {
        table flights;
        const auto first = flights.join();
        std::shared_ptr<sync::flight> second;
        model::in_threads([&] { flights.leave(first); }, [&] { second = flights.join(); },
                          [&] { flights.end(first); });
        require(second != first || flights.stopped == 0, "it was not stopped");
        require(flights.began == (second == first ? 1 : 2), "the table has what can be joined");
        if (second != first) flights.end(second);
        wait{}.ask(*second);
        flights.leave(second);
        require(flights.in_air == nullptr, "nothing is left in the table");
    });
}

}  // namespace
}  // namespace fairlead
