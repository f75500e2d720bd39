// Results of other tasks: combinators, futures, and selects, ready and not.
#include "counts/meter.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/combine/when_all_settled.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/wait/event.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace fl = fairlead;

namespace bench::counts {
namespace {

constexpr std::uint64_t several = 64;  // at once

fl::task<int> one() { co_return 1; }

// The first child ends at once, and the second one before it hears the stop.
fl::task<> any_of_two(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) {
        static_cast<void>(co_await fl::when_any(one(), one()));
    }
}

fl::task<> settle_many(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; operations -= several) {
        std::vector<fl::task<int>> all;
        all.reserve(several);
        for (std::uint64_t i = 0; i != several; ++i) all.push_back(one());
        static_cast<void>(co_await fl::when_all_settled(std::move(all)));
    }
}

void set_and_take(std::uint64_t operations) {
    for (; operations != 0; --operations) {
        auto both = fl::make_promise<int>();
        both.promise.set(1);
        static_cast<void>(both.future.take());
    }
}

fl::task<> set_and_await(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) {
        auto both = fl::make_promise<int>();
        both.promise.set(1);
        static_cast<void>(co_await std::move(both.future));
    }
}

void run_chain(std::uint64_t operations) {
    for (; operations != 0; operations -= several) {
        auto both = fl::make_promise<int>();
        fl::future<int> last = std::move(both.future);
        for (std::uint64_t i = 0; i != several; ++i) {
            last = std::move(last).map([](int value) { return value + 1; });
        }
        both.promise.set(1);
        static_cast<void>(last.take());
    }
}

// All events are set, so the first branch that is tried ends.
template <std::size_t... Branch>
fl::task<> select_ready(std::array<fl::event, sizeof...(Branch)>& all, std::uint64_t operations,
                        std::index_sequence<Branch...>) {
    const auto nothing = [](fl::waited<void>) {};
    for (; operations != 0; --operations) {
        static_cast<void>(co_await fl::select(fl::on(all[Branch].wait(), nothing)...));
    }
}
template <std::size_t Count>
fl::task<> select_of(fl::scheduler&, std::uint64_t operations) {
    std::array<fl::event, Count> all;
    for (fl::event& each : all) each.set();
    co_await select_ready(all, operations, std::make_index_sequence<Count>{});
}

fl::task<> sends(fl::channel<int>& to, std::uint64_t operations) {
    for (; operations != 0; --operations) static_cast<void>(co_await to.send(1));
}

// Each element is sent while the select waits in both channels.
fl::task<> select_waits(fl::scheduler& home, std::uint64_t operations) {
    fl::channel<int> used{1};
    fl::channel<int> idle{1};
    const auto nothing = [](fl::waited<int>) {};
    auto sender = fl::spawn(home, sends(used, operations));
    for (std::uint64_t i = 0; i != operations; ++i) {
        static_cast<void>(
            co_await fl::select(fl::on(used.receive(), nothing), fl::on(idle.receive(), nothing)));
    }
    co_await sender;
}

}  // namespace

void measure_results(meter& to) {
    to.section("results");
    to.measure("when_any of 2", any_of_two);
    to.measure("when_all_settled of 64, each", settle_many);
    to.measure("future: make, set and take", set_and_take);
    to.measure("future: make, set and await", set_and_await);
    to.measure("future: a chain of 64 continuations, each", run_chain);
    to.measure("select of 2 events that are set", select_of<2>);
    to.measure("select of 8 events that are set", select_of<8>);
    to.measure("select of 2 that waits, and a send", select_waits);
}

}  // namespace bench::counts
