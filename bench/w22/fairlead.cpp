// Fairlead: fl::mutex, fl::select, fl::future, fl::spawn.
#include "w22/waiting.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/future/future.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/wait/mutex.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace fl = fairlead;

namespace {

using bench::measurement;
using bench::options;
using numbers = fl::channel<std::uint64_t>;

// --- mutex -----------------------------------------------------------------------------------

struct guarded_sum {
    fl::mutex guards;
    std::uint64_t sum = 0;
};

fl::task<> locks(guarded_sum& of, bench::part mine, bool yields) {
    for (std::uint64_t i = 0; i != mine.count; ++i) {
        const auto lock = co_await of.guards.lock();
        of.sum += mine.first + i;
        if (yields) co_await fl::yield();
    }
}

std::uint64_t lock_in_turn(fl::scheduler& home, const options& asked, std::uint64_t count) {
    guarded_sum of;
    std::vector<fl::join_handle<void>> tasks;
    for (std::uint64_t i = 0; i != asked.chains; ++i) {
        tasks.push_back(fl::spawn(
            home, locks(of, bench::part_of(i, asked.chains, count), asked.name == "mutex_yield")));
    }
    for (auto& each : tasks) each.get();
    return of.sum;
}

// --- select ----------------------------------------------------------------------------------

template <std::size_t Count>
struct lines {
    template <std::size_t... Index>
    explicit lines(std::index_sequence<Index...>) : to{((void)Index, numbers{1})...} {}
    lines() : lines{std::make_index_sequence<Count>{}} {}

    std::array<numbers, Count> to;
    numbers back{1};
};

template <std::size_t Count>
fl::task<> sends(lines<Count>& between, std::uint64_t count) {
    for (std::uint64_t i = 0; i != count; ++i) {
        static_cast<void>(co_await between.to[i % Count].send(std::uint64_t{i}));
        static_cast<void>(co_await between.back.receive());
    }
}

template <std::size_t... Branch>
fl::task<std::uint64_t> selects(lines<sizeof...(Branch)>& between, std::uint64_t count,
                                std::index_sequence<Branch...>) {
    std::uint64_t sum = 0;
    const auto add = [&sum](fl::waited<std::uint64_t> next) { sum += *next; };
    for (std::uint64_t i = 0; i != count; ++i) {
        static_cast<void>(co_await fl::select(fl::on(between.to[Branch].receive(), add)...));
        static_cast<void>(co_await between.back.send(std::uint64_t{i}));
    }
    co_return sum;
}

template <std::size_t Count>
std::uint64_t select_waiting(fl::scheduler& home, std::uint64_t count) {
    lines<Count> between;
    auto selecting = fl::spawn(home, selects(between, count, std::make_index_sequence<Count>{}));
    fl::spawn(home, sends(between, count)).get();
    return selecting.get();
}

template <std::size_t... Branch>
fl::task<std::uint64_t> sends_and_selects(lines<sizeof...(Branch)>& between, std::uint64_t count,
                                          std::index_sequence<Branch...>) {
    std::uint64_t sum = 0;
    const auto add = [&sum](fl::waited<std::uint64_t> next) { sum += *next; };
    for (std::uint64_t i = 0; i != count; ++i) {
        static_cast<void>(co_await between.to[i % sizeof...(Branch)].send(std::uint64_t{i}));
        static_cast<void>(co_await fl::select(fl::on(between.to[Branch].receive(), add)...));
    }
    co_return sum;
}

template <std::size_t Count>
std::uint64_t select_ready(fl::scheduler& home, std::uint64_t count) {
    lines<Count> between;
    return fl::spawn(home, sends_and_selects(between, count, std::make_index_sequence<Count>{}))
        .get();
}

template <std::size_t Count>
measurement measure_select(fl::scheduler& home, const options& asked) {
    const bool ready = asked.name == "select_ready";
    return bench::measure_sum(asked, [&](std::uint64_t count) {
        return ready ? select_ready<Count>(home, count) : select_waiting<Count>(home, count);
    });
}

// --- future, spawn ---------------------------------------------------------------------------

fl::task<std::uint64_t> runs_chains(std::uint64_t chains, std::uint64_t continuations) {
    std::uint64_t sum = 0;
    for (; chains != 0; --chains) {
        auto both = fl::make_promise<std::uint64_t>();
        fl::future<std::uint64_t> last = std::move(both.future);
        for (std::uint64_t i = 0; i != continuations; ++i) {
            last = std::move(last).map([](std::uint64_t before) { return before + 1; });
        }
        both.promise.set(std::uint64_t{0});
        sum += co_await std::move(last);
    }
    co_return sum;
}

fl::task<std::uint64_t> gives(std::uint64_t number) { co_return number; }

fl::task<std::uint64_t> spawns(fl::scheduler& home, std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != count; ++i) sum += co_await fl::spawn(home, gives(i));
    co_return sum;
}

std::optional<measurement> measure(const options& asked) {
    fl::scheduler home{{.workers = static_cast<unsigned>(asked.workers)}};
    if (asked.name == "mutex" || asked.name == "mutex_yield") {
        return bench::measure_sum(
            asked, [&](std::uint64_t count) { return lock_in_turn(home, asked, count); });
    }
    if (asked.name == "select" || asked.name == "select_ready") {
        if (asked.chains == 2) return measure_select<2>(home, asked);
        if (asked.chains == 8) return measure_select<8>(home, asked);
    }
    if (asked.name == "future") {
        return bench::w22::measure_chains(asked, [&](std::uint64_t chains) {
            return fl::spawn(home, runs_chains(chains, asked.chains)).get();
        });
    }
    if (asked.name == "spawn") {
        return bench::measure_sum(
            asked, [&](std::uint64_t count) { return fl::spawn(home, spawns(home, count)).get(); });
    }
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W22", "fairlead", measure); }
