// Tasks that wait for each other: a mutex, a semaphore, events, a latch.
#include <fairlead/fairlead.hpp>

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [mutex]
struct ledger {
    fl::mutex guards;
    std::vector<int> entries;  // guarded by `guards`
};

// Stands for a write to a disk or a database: the task sleeps meanwhile.
fl::task<> store(const std::vector<int>&) { co_await fl::sleep_for(1ms); }

// False: the ledger was not free in time, or the task was asked to stop.
fl::task<bool> append(ledger& to, int entry, fl::time_point deadline) {
    const auto lock = co_await to.guards.lock(deadline);
    if (!lock) co_return false;
    to.entries.push_back(entry);
    co_await store(to.entries);  // no other task is in here meanwhile
    co_return true;
}
// [/mutex]

// [semaphore]
// 64 MiB for all uploads together, however many there are.
struct uploads {
    fl::semaphore memory{64 << 20};
    int done = 0;
};

fl::task<> upload(uploads& all, std::uint32_t bytes) {
    const auto units = co_await all.memory.acquire(bytes);
    if (!units) co_return;  // a stop, or `close`
    co_await fl::sleep_for(1ms);
    ++all.done;
}  // the end of the units returns them
// [/semaphore]

// [event]
// Requests that come before the configuration is there wait for it, two seconds at most.
fl::task<int> answer(fl::event& configured, const int& limit) {
    const auto ready = co_await configured.wait(fl::clock::now() + 2s);
    co_return ready ? limit : -1;
}
// [/event]

// [auto_event]
// One task writes what many tasks report. However often they set the event, the writer looks once.
struct journal {
    fl::auto_event more;
    std::vector<int> reports;
    int written = 0;
};

fl::task<> write_reports(journal& of) {
    for (;;) {
        const auto came = co_await of.more.wait();
        for (const int each : std::exchange(of.reports, {})) of.written += each;
        if (!came) co_return;  // a stop
    }
}

void report(journal& to, int what) {
    to.reports.push_back(what);
    to.more.set();
}
// [/auto_event]

// [latch]
fl::task<> load(int& shard, fl::latch& loaded) {
    co_await fl::sleep_for(1ms);
    shard = 1;
    loaded.arrive();
}
// [/latch]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    // The plain counters below need no lock: all of their tasks run in one strand.
    fl::group strand{scheduler, {.name = "strand", .max_concurrency = 1}};

    ledger money;
    std::vector<fl::join_handle<bool>> appends;
    const fl::time_point deadline = fl::clock::now() + 1min;
    for (int i = 0; i != 20; ++i)
        appends.push_back(fl::spawn(scheduler, append(money, i, deadline)));
    bool all_appended = true;
    for (auto& each : appends) all_appended &= each.get();

    // [blocking]
    // A thread that is no worker waits by blocking.
    std::size_t entries = 0;
    if (const auto lock = money.guards.lock_blocking()) entries = money.entries.size();
    // [/blocking]

    uploads all;
    std::vector<fl::join_handle<void>> running;
    for (int i = 0; i != 20; ++i) running.push_back(fl::spawn(strand, upload(all, 10 << 20)));
    for (auto& each : running) each.get();

    fl::event configured;
    int limit = 0;
    auto early = fl::spawn(scheduler, answer(configured, limit));
    limit = 7;
    configured.set();  // what was written before is seen by the tasks that go on
    const int seen = early.get();

    journal log;
    auto writer = fl::spawn(strand, write_reports(log));
    for (int i = 0; i != 100; ++i) strand.post([&log] { report(log, 1); });
    strand.post([&writer] { writer.request_stop(); });
    writer.get();

    // [loads]
    int shards[3] = {};
    fl::latch loaded{3};
    for (int& each : shards) fl::spawn(scheduler, load(each, loaded)).detach();
    const bool in_time = loaded.wait_blocking(fl::clock::now() + 1min).has_value();
    // [/loads]
    const int loaded_shards = shards[0] + shards[1] + shards[2];

    scheduler.drain();
    std::printf("%zu entries, %d uploads, %d reports\n", entries, all.done, log.written);

    const bool good = all_appended && entries == 20 && all.done == 20 && seen == 7 &&
                      log.written == 100 && in_time && loaded_shards == 3;
    return good ? 0 : 1;
}
