// Coroutines: calls, spawns, turns, switches, forks.
#include "counts/meter.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>

#include <utility>
#include <vector>

namespace fl = fairlead;

namespace bench::counts {
namespace {

constexpr std::uint64_t children = 64;  // at once, where there are many

fl::task<> nothing() { co_return; }

fl::task<> call(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) co_await nothing();
}

fl::task<> spawn_and_drop(fl::scheduler& home, std::uint64_t operations) {
    for (; operations != 0; operations -= children) {
        for (std::uint64_t i = 0; i != children; ++i) fl::spawn(home, nothing()).detach();
        co_await fl::yield();
    }
}

fl::task<> spawn_and_join(fl::scheduler& home, std::uint64_t operations) {
    for (; operations != 0; --operations) co_await fl::spawn(home, nothing());
}

fl::task<> spawn_in_a_scope(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; operations -= children) {
        co_await fl::with_scope([](fl::scope& all) -> fl::task<> {
            for (std::uint64_t i = 0; i != children; ++i) all.spawn(nothing());
            co_return;
        });
    }
}

fl::task<> fork_in_a_scope(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; operations -= children) {
        co_await fl::with_scope([](fl::scope& all) -> fl::task<> {
            for (std::uint64_t i = 0; i != children; ++i) co_await all.fork(nothing());
        });
    }
}

fl::task<> take_turns(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) co_await fl::yield();
}

// Two coroutines hand a turn to each other, and sleep until it comes back.
fl::task<> signal_back(fl::basic_task*& self, fl::basic_task& other, std::uint64_t turns) {
    self = &co_await fl::current_task();
    for (; turns != 0; --turns) {
        static_cast<void>(co_await fl::receive_signal());
        other.signal();
    }
}

fl::task<> switch_by_signal(fl::scheduler& home, std::uint64_t operations) {
    fl::basic_task& self = co_await fl::current_task();
    fl::basic_task* other = nullptr;
    auto partner = fl::spawn(home, signal_back(other, self, operations / 2));
    while (other == nullptr) co_await fl::yield();
    for (std::uint64_t turns = operations / 2; turns != 0; --turns) {
        other->signal();
        static_cast<void>(co_await fl::receive_signal());
    }
    co_await partner;
}

struct ball {
    fl::basic_task* players[2] = {};
    unsigned turn_of = 0;
};

fl::task<> wake_back(ball& at, std::uint64_t turns) {
    at.players[1] = &co_await fl::current_task();
    for (; turns != 0; --turns) {
        while (at.turn_of != 1) static_cast<void>(co_await fl::wait_until_woken());
        at.turn_of = 0;
        at.players[0]->wakeup();
    }
}

fl::task<> switch_by_wakeup(fl::scheduler& home, std::uint64_t operations) {
    ball at;
    at.players[0] = &co_await fl::current_task();
    auto partner = fl::spawn(home, wake_back(at, operations / 2));
    while (at.players[1] == nullptr) co_await fl::yield();
    for (std::uint64_t turns = operations / 2; turns != 0; --turns) {
        at.turn_of = 1;
        at.players[1]->wakeup();
        while (at.turn_of != 0) static_cast<void>(co_await fl::wait_until_woken());
    }
    co_await partner;
}

fl::task<> fork_two(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) co_await fl::fork_join(nothing(), nothing());
}

// Below an older fork, as nearly all of a tree are.
fl::task<> fork_two_below_another(fl::scheduler& home, std::uint64_t operations) {
    co_await fl::fork_join(fork_two(home, operations), nothing());
}

template <auto Together>
fl::task<> run_many(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; operations -= children) {
        std::vector<fl::task<>> all;
        all.reserve(children);
        for (std::uint64_t i = 0; i != children; ++i) all.push_back(nothing());
        co_await Together(std::move(all));
    }
}

constexpr auto forked = [](std::vector<fl::task<>>&& all) { return fl::fork_join(std::move(all)); };
constexpr auto as_tasks = [](std::vector<fl::task<>>&& all) {
    return fl::when_all(std::move(all));
};

}  // namespace

void measure_coroutines(meter& to) {
    to.section("coroutines");
    to.measure("await a coroutine", call);
    to.measure("spawn a coroutine, and drop its handle", spawn_and_drop);
    to.measure("spawn a coroutine, and await it", spawn_and_join);
    to.measure("spawn a coroutine in a scope, 64 at once", spawn_in_a_scope);
    to.section("switches");
    to.measure("yield", take_turns);
    to.measure("switch by a signal", switch_by_signal);
    to.measure("switch by a wakeup", switch_by_wakeup);
    to.section("forks");
    to.measure("fork two and join, alone", fork_two);
    to.measure("fork two and join, below another fork", fork_two_below_another);
    to.measure("fork a vector of 64 and join, each", run_many<forked>);
    to.measure("fork in a scope, 64 at once", fork_in_a_scope);
    to.measure("when_all of 64, each", run_many<as_tasks>);
}

}  // namespace bench::counts
