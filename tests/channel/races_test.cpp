// Channels: all kinds of operations at once, with deadlines, stops, closes, and a scheduler that is
// destroyed with its tasks. Each value is in one place afterwards.
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::races_tests {
namespace {

using namespace std::chrono_literals;
using test::watchdog;

constexpr int senders = 4;
constexpr int per_sender = 60;
constexpr int threads = 2;

// A value with a number. An empty one was moved from.
class token {
public:
    token() = default;
    explicit token(int number) noexcept : number_{number} {}
    token(token&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    token& operator=(token&& other) noexcept {
        number_ = std::exchange(other.number_, -1);
        return *this;
    }
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_ = -1;
};

// What has become of each value.
struct places {
    void arrived(const token& value) { ++arrivals[static_cast<std::size_t>(value.number())]; }
    void sent(int number) { ++sends[static_cast<std::size_t>(number)]; }
    void kept(int number) { ++keeps[static_cast<std::size_t>(number)]; }

    static constexpr std::size_t all = (senders + threads) * per_sender;
    std::array<std::atomic<int>, all> arrivals{};  // at a receiver, or dropped
    std::array<std::atomic<int>, all> sends{};     // the sender was told so
    std::array<std::atomic<int>, all> keeps{};     // the sender was told that it was not sent
};

time_point soon(std::minstd_rand& random) {
    return random() % 3 == 0 ? never : clock::now() + std::chrono::microseconds{random() % 200};
}

// Says what has become of a value whose send has ended.
void says(places& of, int number, bool was_sent, const token& value) {
    EXPECT_EQ(was_sent, value.number() == -1);
    was_sent ? of.sent(number) : of.kept(number);
}

task<> sends_in_all_ways(channel<token>& into, places& of, int first, unsigned seed) {
    std::minstd_rand random{seed};
    for (int i = first; i < first + per_sender;) {
        const time_point deadline = soon(random);
        if (random() % 3 == 0) {
            auto place = co_await into.reserve(deadline);
            if (random() % 4 == 0) co_await yield();
            token value{i};
            const bool used = place && random() % 2 == 0;
            const bool sent = used && std::move(*place).send(std::move(value));
            says(of, i++, sent, value);
        } else if (random() % 2 == 0 && i + 5 <= first + per_sender) {
            std::array<token, 5> values;
            for (int k = 0; k != 5; ++k) values[static_cast<std::size_t>(k)] = token{i + k};
            const auto sent = co_await into.send_many(values, deadline);
            for (std::size_t k = 0; k != 5; ++k) {
                says(of, i++, k < sent.value_or(0), values[k]);
            }
        } else {
            token value{i};
            const auto sent = co_await into.send(std::move(value), deadline);
            says(of, i++, sent.has_value(), value);
        }
    }
}

task<> receives_in_all_ways(channel<token>& from, places& of, unsigned seed) {
    std::minstd_rand random{seed};
    for (int i = 0; i != 400; ++i) {
        const time_point deadline = soon(random);
        if (random() % 2 == 0) {
            std::array<token, 4> some;
            const auto count = co_await from.receive_many(some, deadline);
            for (std::size_t k = 0; k != count.value_or(0); ++k) of.arrived(some[k]);
            if (!count && count.error() == wait_error::closed) co_return;
        } else {
            const auto one = co_await from.receive(deadline);
            if (one) of.arrived(*one);
            if (!one && one.error() == wait_error::closed) co_return;
        }
    }
}

void sends_on_a_thread(channel<token>& into, places& of, int first) {
    for (int i = first; i != first + per_sender; ++i) {
        token value{i};
        const auto sent = into.send_blocking(std::move(value), clock::now() + 50us);
        says(of, i, sent.has_value(), value);
    }
}

void receives_on_a_thread(channel<token>& from, places& of, const std::atomic<bool>& ends) {
    while (!ends) {
        if (const auto one = from.receive_blocking(clock::now() + 50us)) of.arrived(*one);
    }
}

void run(unsigned round, std::size_t capacity, when_full policy) {
    places of;
    {
        std::atomic<bool> ends{false};
        channel<token> one{capacity, policy};
        one.on_dropped([to = &of](token&& value) { to->arrived(value); });
        std::vector<std::jthread> outside;
        outside.emplace_back([&] { receives_on_a_thread(one, of, ends); });
        for (int i = 0; i != threads; ++i) {
            outside.emplace_back(
                [&, i] { sends_on_a_thread(one, of, (senders + i) * per_sender); });
        }
        {
            scheduler home{{.workers = 2, .stop_limit = 0ms}};
            std::vector<join_handle<void>> tasks;
            for (int i = 0; i != senders; ++i) {
                tasks.push_back(spawn(home, sends_in_all_ways(one, of, i * per_sender,
                                                              round * 10 + unsigned(i) + 1)));
            }
            for (unsigned i = 0; i != 3; ++i) {
                tasks.push_back(spawn(home, receives_in_all_ways(one, of, round * 10 + i + 5)));
            }
            std::this_thread::sleep_for(std::chrono::microseconds{round * 37 % 600});
            tasks[round % tasks.size()].request_stop();
            if (round % 3 == 0) one.close();
            if (round % 7 == 0) one.close_and_drop();
            for (auto& each : tasks) std::move(each).detach();
        }
        for (int i = 1; i <= threads; ++i) outside[static_cast<std::size_t>(i)].join();
        ends = true;
        outside[0].join();
    }
    for (std::size_t i = 0; i != places::all; ++i) {
        EXPECT_LE(of.arrivals[i], 1) << "a value is doubled";
        EXPECT_GE(of.arrivals[i], of.sends[i]) << "a value is lost";
        EXPECT_LE(of.arrivals[i] + of.keeps[i], 1) << "it was sent all the same";
        EXPECT_LE(of.sends[i] + of.keeps[i], 1);
    }
}

TEST(ChannelRaces, EachValueIsInOnePlace) {
    watchdog guard;
    constexpr std::array policies{when_full::wait, when_full::refuse, when_full::drop_oldest,
                                  when_full::drop_newest};
    constexpr std::array<std::size_t, 4> capacities{1, 3, 40, channel<token>::unbounded};
    for (unsigned round = 0; round != 400; ++round) {
        run(round, capacities[round / 4 % 4], policies[round % 4]);
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace fairlead::races_tests
