// Entries are collected, and written at each tick: a job that also listens.
#include <fairlead/fairlead.hpp>
#include <fairlead/io/interval.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [flush]
// Gives the sizes of the parts that were written, until no more entries come.
fl::task<std::vector<std::size_t>> flush_each_second(fl::channel<int>& entries) {
    fl::io::interval ticks{1s};
    std::vector<std::size_t> written;
    std::size_t collected = 0;
    for (bool open = true; open;) {
        const auto ended = co_await fl::select(fl::on(entries.receive(),
                                                      [&](fl::waited<int> entry) {
                                                          open = entry.has_value();
                                                          if (open) ++collected;
                                                      }),
                                               fl::on(ticks.next(), [&](fl::io::interval_tick) {
                                                   written.push_back(collected);
                                                   collected = 0;
                                               }));
        if (!ended) break;  // the task was asked to stop
    }
    if (collected != 0) written.push_back(collected);
    co_return written;
}
// [/flush]

fl::task<> produce(fl::channel<int>& entries) {
    for (int i = 0; i < 8; ++i) {
        co_await fl::sleep_for(300ms);
        static_cast<void>(co_await entries.send(int{i}));
    }
    entries.close();
}

fl::task<std::vector<std::size_t>> both() {
    fl::channel<int> entries{4};
    std::vector<std::size_t> written;
    co_await fl::with_scope([&](fl::scope& jobs) -> fl::task<> {
        jobs.spawn(produce(entries));
        written = co_await flush_each_second(entries);
    });
    co_return written;
}

}  // namespace

int main() {
    fl::test::simulated_scheduler simulated;
    const std::vector<std::size_t> written = simulated.run(both());
    for (const std::size_t size : written) std::printf("%zu entries\n", size);
    // Entries come each 300 ms; the last two are written at the end.
    return written == std::vector<std::size_t>{3, 3, 2} ? 0 : 1;
}
