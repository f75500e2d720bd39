// Fairlead: fl::channel.
#include "w8/w8.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <numeric>
#include <span>
#include <vector>

namespace fl = fairlead;

namespace {

using bench::measurement;
using bench::options;
using numbers = fl::channel<std::uint64_t>;

fl::task<> sends(numbers& into, bench::w8::part mine) {
    for (std::uint64_t i = 0; i != mine.count; ++i) {
        static_cast<void>(co_await into.send(mine.first + i));
    }
}

fl::task<std::uint64_t> receives(numbers& from) {
    std::uint64_t sum = 0;
    while (const auto next = co_await from.receive()) sum += *next;
    co_return sum;
}

fl::task<> sends_batches(numbers& into, bench::w8::part mine) {
    std::array<std::uint64_t, bench::w8::batch> some{};
    while (mine.count != 0) {
        const std::size_t size = std::min<std::uint64_t>(some.size(), mine.count);
        std::iota(some.begin(), some.begin() + size, mine.first);
        static_cast<void>(co_await into.send_many(std::span{some}.first(size)));
        mine.first += size;
        mine.count -= size;
    }
}

fl::task<std::uint64_t> receives_batches(numbers& from) {
    std::array<std::uint64_t, bench::w8::batch> some{};
    std::uint64_t sum = 0;
    while (const auto count = co_await from.receive_many(some)) {
        sum = std::accumulate(some.begin(), some.begin() + *count, sum);
    }
    co_return sum;
}

std::uint64_t stream(fl::scheduler& home, const options& asked, std::uint64_t count,
                     std::size_t places, bool batched) {
    numbers through{places};
    std::vector<fl::join_handle<void>> senders;
    std::vector<fl::join_handle<std::uint64_t>> receivers;
    for (std::uint64_t i = 0; i != asked.consumers; ++i) {
        receivers.push_back(
            fl::spawn(home, batched ? receives_batches(through) : receives(through)));
    }
    for (std::uint64_t i = 0; i != asked.producers; ++i) {
        const auto mine = bench::w8::part_of(i, asked.producers, count);
        senders.push_back(
            fl::spawn(home, batched ? sends_batches(through, mine) : sends(through, mine)));
    }
    for (auto& each : senders) each.get();
    through.close();
    std::uint64_t sum = 0;
    for (auto& each : receivers) sum += each.get();
    return sum;
}

fl::task<std::uint64_t> plays(numbers& in, numbers& out, std::uint64_t left) {
    std::uint64_t sum = 0;
    for (; left != 0; --left) {
        const std::uint64_t token = *co_await in.receive();
        sum += token;
        static_cast<void>(co_await out.send(token + 1));
    }
    co_return sum;
}

// The token is 0, 1, 2, ...
std::uint64_t play(fl::scheduler& home, std::uint64_t count) {
    numbers there{1};
    numbers back{1};
    auto first = fl::spawn(home, plays(there, back, (count + 1) / 2));
    auto second = fl::spawn(home, plays(back, there, count / 2));
    static_cast<void>(there.send_blocking(0));
    return first.get() + second.get();
}

std::optional<measurement> measure(const options& asked) {
    fl::scheduler home{{.workers = static_cast<unsigned>(asked.workers)}};
    const auto streams = [&](std::size_t places, bool batched) {
        return bench::w8::measure_stream(asked, [&](std::uint64_t count) {
            return stream(home, asked, count, places, batched);
        });
    };
    if (asked.name == "bounded") return streams(bench::w8::places, false);
    if (asked.name == "unbounded") return streams(numbers::unbounded, false);
    if (asked.name == "batched") return streams(bench::w8::places, true);
    if (asked.name == "ping_pong") {
        return bench::w8::measure_stream(asked,
                                         [&](std::uint64_t count) { return play(home, count); });
    }
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W8", "fairlead", measure); }
