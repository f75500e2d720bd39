// W8 by tasks of Fairlead, through a channel of any kind: `send(number)` and `receive()` are
// awaited, and `receive()` gives nothing when the channel is closed and empty.
#pragma once

#include "w8/w8.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

namespace bench::w8 {

namespace fl = fairlead;

template <class Channel>
concept has_batches = requires(Channel& through, std::span<std::uint64_t> some) {
    through.send_many(some);
    through.receive_many(some);
};

template <class Channel>
fl::task<> sends(Channel& into, part mine) {
    for (std::uint64_t i = 0; i != mine.count; ++i) {
        static_cast<void>(co_await into.send(mine.first + i));
    }
}

template <class Channel>
fl::task<std::uint64_t> receives(Channel& from) {
    std::uint64_t sum = 0;
    while (const auto next = co_await from.receive()) sum += *next;
    co_return sum;
}

template <has_batches Channel>
fl::task<> sends_batches(Channel& into, part mine) {
    std::array<std::uint64_t, batch> some{};
    while (mine.count != 0) {
        const std::size_t size = std::min<std::uint64_t>(some.size(), mine.count);
        std::iota(some.begin(), some.begin() + size, mine.first);
        static_cast<void>(co_await into.send_many(std::span{some}.first(size)));
        mine.first += size;
        mine.count -= size;
    }
}

template <has_batches Channel>
fl::task<std::uint64_t> receives_batches(Channel& from) {
    std::array<std::uint64_t, batch> some{};
    std::uint64_t sum = 0;
    while (const auto count = co_await from.receive_many(some)) {
        sum = std::accumulate(some.begin(), some.begin() + *count, sum);
    }
    co_return sum;
}

/// `make_sender(part)` and `make_receiver()` give the tasks.
std::uint64_t stream(fl::scheduler& home, const options& asked, std::uint64_t count, auto& through,
                     auto make_sender, auto make_receiver) {
    std::vector<fl::join_handle<void>> senders;
    std::vector<fl::join_handle<std::uint64_t>> receivers;
    for (std::uint64_t i = 0; i != asked.consumers; ++i) {
        receivers.push_back(fl::spawn(home, make_receiver()));
    }
    for (std::uint64_t i = 0; i != asked.producers; ++i) {
        senders.push_back(fl::spawn(home, make_sender(part_of(i, asked.producers, count))));
    }
    for (auto& each : senders) each.get();
    through.close();
    std::uint64_t sum = 0;
    for (auto& each : receivers) sum += each.get();
    return sum;
}

template <class Channel>
fl::task<std::uint64_t> plays(Channel& in, Channel& out, std::uint64_t left) {
    std::uint64_t sum = 0;
    for (; left != 0; --left) {
        const std::uint64_t token = *co_await in.receive();
        sum += token;
        static_cast<void>(co_await out.send(token + 1));
    }
    co_return sum;
}

/// The token is 0, 1, 2, ...
template <class Channel>
std::uint64_t play(fl::scheduler& home, std::uint64_t count, std::size_t capacity) {
    Channel there{capacity};
    Channel back{capacity};
    fl::spawn(home, sends(there, {0, 1})).get();
    auto first = fl::spawn(home, plays(there, back, (count + 1) / 2));
    auto second = fl::spawn(home, plays(back, there, count / 2));
    return first.get() + second.get();
}

template <class Channel>
std::optional<measurement> measure(const options& asked) {
    fl::scheduler home{{.workers = static_cast<unsigned>(asked.workers)}};
    if (asked.name == "ping_pong") {
        return measure_sum(asked,
                           [&](std::uint64_t count) { return play<Channel>(home, count, 1); });
    }
    const auto wanted = shape_of(asked, Channel::unbounded);
    if (!wanted || (wanted->is_batched && !has_batches<Channel>)) return std::nullopt;
    return measure_sum(asked, [&](std::uint64_t count) {
        Channel through{wanted->places};
        if constexpr (has_batches<Channel>) {
            if (wanted->is_batched) {
                return stream(
                    home, asked, count, through,
                    [&](part mine) { return sends_batches(through, mine); },
                    [&] { return receives_batches(through); });
            }
        }
        return stream(
            home, asked, count, through, [&](part mine) { return sends(through, mine); },
            [&] { return receives(through); });
    });
}

}  // namespace bench::w8
