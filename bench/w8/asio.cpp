// Asio's channels, which Debian's Boost does not have yet, so it is Asio alone. One worker has
// `channel`, which has no lock; several have `concurrent_channel`. To close it would drop what it
// holds: each receiver gets one more element instead.
#include "w8/w8.hpp"

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <future>
#include <limits>
#include <vector>

namespace {

using bench::measurement;
using bench::options;

using message = void(asio::error_code, std::uint64_t);
using of_one_thread = asio::experimental::channel<asio::thread_pool::executor_type, message>;
using of_threads =
    asio::experimental::concurrent_channel<asio::thread_pool::executor_type, message>;

constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

template <class Channel>
asio::awaitable<void> sends(Channel& into, bench::part mine) {
    for (std::uint64_t i = 0; i != mine.count; ++i) {
        co_await into.async_send(asio::error_code{}, mine.first + i, asio::use_awaitable);
    }
}

template <class Channel>
asio::awaitable<std::uint64_t> receives(Channel& from) {
    std::uint64_t sum = 0;
    for (;;) {
        const std::uint64_t next = co_await from.async_receive(asio::use_awaitable);
        if (next == bench::w8::last) co_return sum;
        sum += next;
    }
}

template <class Channel>
asio::awaitable<std::uint64_t> plays(Channel& in, Channel& out, std::uint64_t left) {
    std::uint64_t sum = 0;
    for (; left != 0; --left) {
        const std::uint64_t token = co_await in.async_receive(asio::use_awaitable);
        sum += token;
        co_await out.async_send(asio::error_code{}, token + 1, asio::use_awaitable);
    }
    co_return sum;
}

template <class Channel>
class runs {
public:
    runs(asio::thread_pool& pool, const options& asked) : pool_{pool}, asked_{asked} {}

    std::uint64_t stream(std::uint64_t count, std::size_t places) {
        Channel through{pool_.get_executor(), places};
        std::vector<std::future<void>> senders;
        std::vector<std::future<std::uint64_t>> receivers;
        for (std::uint64_t i = 0; i != asked_.consumers; ++i) {
            receivers.push_back(spawn(receives(through)));
        }
        for (std::uint64_t i = 0; i != asked_.producers; ++i) {
            senders.push_back(spawn(sends(through, bench::part_of(i, asked_.producers, count))));
        }
        for (auto& each : senders) each.get();
        for (std::uint64_t i = 0; i != asked_.consumers; ++i) {
            spawn(sends(through, {bench::w8::last, 1})).get();
        }
        std::uint64_t sum = 0;
        for (auto& each : receivers) sum += each.get();
        return sum;
    }

    std::uint64_t play(std::uint64_t count) {
        Channel there{pool_.get_executor(), 1};
        Channel back{pool_.get_executor(), 1};
        spawn(sends(there, {0, 1})).get();
        auto first = spawn(plays(there, back, (count + 1) / 2));
        auto second = spawn(plays(back, there, count / 2));
        const std::uint64_t sum = first.get();
        return sum + second.get();
    }

private:
    template <class T>
    std::future<T> spawn(asio::awaitable<T> task) {
        return asio::co_spawn(pool_, std::move(task), asio::use_future);
    }

    asio::thread_pool& pool_;
    const options& asked_;
};

template <class Channel>
std::optional<measurement> measure_with(const options& asked) {
    asio::thread_pool pool{asked.workers};
    runs<Channel> of{pool, asked};
    if (asked.name == "ping_pong") {
        return bench::measure_sum(asked, [&](std::uint64_t count) { return of.play(count); });
    }
    const auto wanted = bench::w8::shape_of(asked, unbounded);
    if (!wanted || wanted->is_batched) return std::nullopt;
    return bench::measure_sum(
        asked, [&](std::uint64_t count) { return of.stream(count, wanted->places); });
}

std::optional<measurement> measure(const options& asked) {
    return asked.workers == 1 ? measure_with<of_one_thread>(asked)
                              : measure_with<of_threads>(asked);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W8", "asio", measure); }
