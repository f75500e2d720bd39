// One value for many tasks: prices for all that show them, and a configuration that is reloaded.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [broadcast]
struct price {
    std::string of;
    int cents;
};

// Shows each price, in order. A screen that is too slow goes on with the newest 16, and says so.
fl::task<int> show(fl::subscription<price> prices) {
    int shown = 0;
    while (const auto next = co_await prices.receive()) {
        if (const auto lost = prices.take_skipped(); lost != 0) {
            std::printf("%llu prices were not shown\n", static_cast<unsigned long long>(lost));
        }
        const price& it = **next;  // the same object for all screens
        shown += it.cents > 0 ? 1 : 0;
        co_await fl::yield();  // stands for the drawing
    }
    co_return shown;
}

fl::task<int> two_screens(fl::scheduler& home, int count) {
    fl::broadcast<price> prices{16};
    auto first = fl::spawn(home, show(prices.subscribe()));
    auto second = fl::spawn(home, show(prices.subscribe()));
    for (int i = 1; i <= count; ++i) {
        price next{"tea", i};
        static_cast<void>(co_await prices.send(std::move(next)));  // never waits by `lag::skip`
        co_await fl::yield();
    }
    prices.close();  // the screens show what is left
    const int shown = co_await std::move(first);
    co_return shown + co_await std::move(second);
}
// [/broadcast]

// [wait]
// An audit must miss nothing: its senders wait for it.
fl::task<int> audit(fl::subscription<std::string> entries) {
    int count = 0;
    while (co_await entries.receive()) {
        co_await fl::sleep_for(100us);  // stands for a write to a disk
        ++count;
    }
    co_return count;
}

fl::task<int> audited(fl::scheduler& home, int count) {
    fl::broadcast<std::string> entries{4, fl::lag::wait};
    auto auditor = fl::spawn(home, audit(entries.subscribe()));
    for (int i = 0; i != count; ++i) {
        const auto entry = fl::make_held<std::string>("entry " + std::to_string(i));
        const auto sent = co_await entries.send(entry, fl::clock::now() + 1s);
        if (!sent) std::printf("not audited in time: %s\n", entry->c_str());  // it is kept
    }
    entries.close();
    co_return co_await std::move(auditor);
}
// [/wait]

// [watch]
struct config {
    int generation;
    int connections_max;
};

// Applies the configuration there is, and each newer one; configurations between may be skipped.
fl::task<int> apply(fl::watcher<config> current, int& connections_max) {
    int last = 0;
    while (const auto next = co_await current.changed()) {
        connections_max = (*next)->connections_max;
        last = (*next)->generation;
    }
    co_return last;
}

// A request keeps the configuration with which it has begun, however often it is reloaded.
fl::task<bool> handle(fl::watch<config>& current) {
    const auto mine = current.get();
    const int before = mine->connections_max;
    co_await fl::sleep_for(1ms);
    co_return mine->connections_max == before;
}

fl::task<bool> reload(fl::scheduler& home) {
    fl::watch<config> current{config{1, 100}};
    int connections_max = 0;
    auto applying = fl::spawn(home, apply(current.subscribe(), connections_max));
    auto request = fl::spawn(home, handle(current));

    current.set({2, 200});                                // a file was read anew
    current.update([](config& it) { ++it.generation; });  // an operator changes one field

    // Waits until the configuration is new enough: looks at once, and then at each change.
    auto mine = current.subscribe();
    const auto is_third = [](const config& it) { return it.generation >= 3; };
    const auto third = co_await mine.wait_for(is_third, fl::clock::now() + 1s);
    mine = {};
    current.close();  // its watchers see the last one, and end
    const int applied = co_await std::move(applying);
    const bool is_kept = co_await std::move(request);
    co_return third&& is_kept&& applied == 3 && connections_max == 200;
}
// [/watch]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const int shown = fl::block_on(scheduler, two_screens(scheduler, 1000));
    const bool passed = shown > 0 && shown <= 2000 &&
                        fl::block_on(scheduler, audited(scheduler, 50)) == 50 &&
                        fl::block_on(scheduler, reload(scheduler));
    std::puts(passed ? "all as expected" : "something went wrong");
    return passed ? 0 : 1;
}
