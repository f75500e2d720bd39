// A cache whose missing entries are loaded once, however many tasks ask for them.
#include <fairlead/fairlead.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

using page = std::shared_ptr<const std::string>;

// [cache]
// Keeps what was loaded for `lifetime`. Any task, on any worker.
class page_cache {
public:
    using loader = std::function<fl::task<page>(const std::string& url)>;

    page_cache(fl::executor where, loader load, fl::duration lifetime)
        : load_{std::move(load)}, lifetime_{lifetime}, loads_{where, "load a page"} {}

    // The page, `expired` or `stopped`. Throws what the load throws, which is not kept.
    fl::task<fl::waited<page>> get(std::string url, fl::time_point deadline = fl::never) {
        if (page found = find(url)) co_return found;
        const auto load = [this](const std::string& missing) { return load_and_keep(missing); };
        co_return co_await loads_.get(std::move(url), load, deadline);
    }

private:
    struct entry {
        page value;
        fl::time_point until;
    };

    // Null: it is not there, or too old.
    page find(const std::string& url) {
        const std::lock_guard lock{mutex_};
        const auto at = entries_.find(url);
        if (at == entries_.end()) return nullptr;
        if (at->second.until > fl::clock::now()) return at->second.value;
        entries_.erase(at);
        return nullptr;
    }

    // A flight: one for each missing page, however many tasks ask.
    fl::task<page> load_and_keep(std::string url) {
        // The page may have come between the look and the beginning of this flight.
        if (page found = find(url)) co_return found;
        page loaded = co_await load_(url);
        const std::lock_guard lock{mutex_};
        entries_[url] = {loaded, fl::clock::now() + lifetime_};
        co_return loaded;
    }

    const loader load_;
    const fl::duration lifetime_;
    std::mutex mutex_;  // never held over an await
    std::unordered_map<std::string, entry> entries_;
    fl::single_flight<std::string, page> loads_;
};
// [/cache]

// Stands for a server: counts its requests, and fails once.
struct origin {
    int requests = 0;
    bool fails = false;

    fl::task<page> load(std::string url) {
        ++requests;
        co_await fl::sleep_for(100ms);
        if (std::exchange(fails, false)) throw std::runtime_error{"the server is down"};
        co_return std::make_shared<const std::string>("content of " + url);
    }
};

fl::task<bool> use(fl::executor where) {
    origin server;
    page_cache pages{where, [&](const std::string& url) { return server.load(url); }, 60s};
    bool passed = true;
    const auto expect = [&](bool holds, const char* what) {
        std::printf("%s: %s\n", what, holds ? "yes" : "NO");
        passed = passed && holds;
    };

    // [many]
    // A hundred tasks ask at once for a page that is not there: one load.
    std::vector<fl::task<fl::waited<page>>> asking;
    for (int i = 0; i != 100; ++i) asking.push_back(pages.get("/index"));
    const auto found = co_await fl::when_all(std::move(asking));
    // [/many]
    bool same = true;
    for (const auto& each : found) same = same && each.has_value() && *each == *found.front();
    expect(same && server.requests == 1, "one load for a hundred tasks");
    expect((co_await pages.get("/index")).has_value() && server.requests == 1, "then it is kept");
    co_await fl::sleep_for(61s);
    expect((co_await pages.get("/index")).has_value() && server.requests == 2, "for a minute");

    // [impatient]
    // A caller that gives up ends its own wait. The load goes on for the other callers.
    const fl::time_point soon = fl::clock::now() + 10ms;
    auto [hurried, patient] = co_await fl::when_all(pages.get("/a", soon), pages.get("/a"));
    // [/impatient]
    expect(!hurried && hurried.error() == fl::wait_error::expired, "an impatient caller leaves");
    expect(patient.has_value() && server.requests == 3, "and the other one has the page");

    server.fails = true;
    const auto failed = co_await fl::when_all_settled(pages.get("/b"), pages.get("/b"));
    expect(!std::get<0>(failed) && !std::get<1>(failed), "a failure is for all that wait");
    expect((co_await pages.get("/b")).has_value(), "and is not kept");
    co_return passed;
}

}  // namespace

int main() {
    fl::test::simulated_scheduler simulated;  // a minute passes at once
    return simulated.run(use(simulated)) ? 0 : 1;
}
