// Redis: a cache beside a slow store, and a lease that one process has at a time. The argument is
// the path of the server's Unix socket.
#include <fairlead/fairlead.hpp>
#include <fairlead/redis/client.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace redis = fairlead::redis;
using namespace std::chrono_literals;

namespace {

// [cache]
// Pages in Redis, in front of a slow store. Any task, on any worker.
class cached_pages {
public:
    cached_pages(fl::executor where, redis::client& cache) : cache_{cache}, loads_{where} {}

    fl::task<fl::waited<std::string>> get(std::string name, fl::time_point deadline) {
        const auto load = [this](const std::string& missing) { return look_and_load(missing); };
        co_return co_await loads_.get(std::move(name), load, deadline);
    }

    int loaded = 0;

private:
    // One at a time for each page in this process. Without Redis the page is loaded all the same.
    fl::task<std::string> look_and_load(std::string name) {
        const std::string key = "page:" + name;
        auto found = co_await cache_.get(key, fl::clock::now() + 50ms);
        if (found && *found) co_return std::move(**found);
        ++loaded;
        std::string page = co_await load_from_store(name);
        const redis::set_options for_a_minute{.expires = 60s};
        const auto kept = co_await cache_.set(key, page, for_a_minute, fl::clock::now() + 50ms);
        if (!kept) std::printf("not cached: %s\n", kept.error().message().c_str());
        co_return page;
    }

    static fl::task<std::string> load_from_store(std::string name) {
        co_await fl::sleep_for(5ms);
        co_return "the page " + name;
    }

    redis::client& cache_;
    fl::single_flight<std::string, std::string> loads_;
};
// [/cache]

fl::task<bool> show_cache(cached_pages& pages) {
    std::vector<fl::task<fl::waited<std::string>>> asking;
    const fl::time_point deadline = fl::clock::now() + 5s;
    for (int i = 0; i != 100; ++i) asking.push_back(pages.get("index", deadline));
    const auto found = co_await fl::when_all(std::move(asking));
    for (const auto& page : found) {
        if (!page || *page != "the page index") co_return false;
    }
    const auto again = co_await pages.get("index", deadline);
    std::printf("%zu pages, %d load\n", found.size() + 1, pages.loaded);
    const bool is_right = again && pages.loaded == 1;
    co_return is_right;
}

// [lease]
// Does `work` if no other process does. The lease ends by itself if this process dies.
fl::task<bool> work_alone(redis::client& leases, std::string token, fl::task<> work) {
    const redis::set_options lease{.when = redis::set_when::absent, .expires = 10s};
    const fl::time_point deadline = fl::clock::now() + 1s;
    const auto taken = co_await leases.set("lease:job", token, lease, deadline);
    // After an error it is not known whether the lease is ours: the token says so below.
    if (taken && *taken) co_await std::move(work);
    // Only the holder of the token deletes it: after 10 s it may be of another process.
    const auto returned = co_await leases.compare_and_delete("lease:job", token);
    if (!returned) std::puts("the lease ends by its time");
    const bool worked = taken && *taken;
    co_return worked;
}
// [/lease]

fl::task<> count_up(int& done) {
    co_await fl::sleep_for(1ms);
    ++done;
}

fl::task<bool> show_lease(redis::client& leases) {
    int done = 0;
    auto [first, second] = co_await fl::when_all(work_alone(leases, "token-1", count_up(done)),
                                                 work_alone(leases, "token-2", count_up(done)));
    std::printf("%d of two workers had the lease\n", done);
    const bool is_right = first != second && done == 1;
    co_return is_right;
}

fl::task<bool> show_all(redis::client& client) {
    const fl::executor where = co_await fl::current_executor();
    cached_pages pages{where, client};
    const bool cached = co_await show_cache(pages);
    const bool leased = co_await show_lease(client);
    // [close]
    const bool whole = co_await client.close(fl::clock::now() + 1s);
    // [/close]
    const bool is_right = cached && leased && whole;
    co_return is_right;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::puts("usage: redis PATH_OF_THE_SOCKET");
        return 2;
    }
    // [client]
    fl::scheduler_options options;
    options.driver = std::make_unique<fl::io::epoll_driver>();
    fl::scheduler scheduler{std::move(options)};
    redis::client client{scheduler, redis::connect_unix(arguments[1]), {.name = "cookbook"}};
    // [/client]
    return fl::block_on(scheduler, show_all(client)) ? 0 : 1;
}
