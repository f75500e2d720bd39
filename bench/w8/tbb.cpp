// oneTBB's bounded queue. It has no tasks that wait, so each sender and receiver is a thread,
// whatever the number of workers is. It cannot be closed: each receiver gets one more element.
#include "w8/w8.hpp"

#include <tbb/concurrent_queue.h>

#include <thread>
#include <vector>

namespace {

using bench::measurement;
using bench::options;
using bench::w8::last;
using numbers = tbb::concurrent_bounded_queue<std::uint64_t>;

constexpr std::size_t unbounded = 0;  // no call of set_capacity

std::uint64_t stream(const options& asked, std::uint64_t count, std::size_t places) {
    numbers through;
    if (places != unbounded) through.set_capacity(static_cast<std::ptrdiff_t>(places));
    std::vector<std::uint64_t> sums(asked.consumers);
    std::vector<std::thread> senders;
    std::vector<std::thread> receivers;
    for (std::uint64_t& into : sums) {
        receivers.emplace_back([&through, &into] {
            std::uint64_t sum = 0;
            std::uint64_t next = 0;
            for (through.pop(next); next != last; through.pop(next)) sum += next;
            into = sum;
        });
    }
    for (std::uint64_t i = 0; i != asked.producers; ++i) {
        senders.emplace_back([&through, mine = bench::part_of(i, asked.producers, count)] {
            for (std::uint64_t k = 0; k != mine.count; ++k) through.push(mine.first + k);
        });
    }
    for (std::thread& each : senders) each.join();
    for (std::uint64_t i = 0; i != asked.consumers; ++i) through.push(last);
    for (std::thread& each : receivers) each.join();
    std::uint64_t sum = 0;
    for (const std::uint64_t each : sums) sum += each;
    return sum;
}

std::uint64_t plays(numbers& in, numbers& out, std::uint64_t left) {
    std::uint64_t sum = 0;
    for (; left != 0; --left) {
        std::uint64_t token = 0;
        in.pop(token);
        sum += token;
        out.push(token + 1);
    }
    return sum;
}

std::uint64_t play(std::uint64_t count) {
    numbers there;
    numbers back;
    there.set_capacity(1);
    back.set_capacity(1);
    there.push(0);
    std::uint64_t other_sum = 0;
    std::thread other{[&] { other_sum = plays(back, there, count / 2); }};
    const std::uint64_t sum = plays(there, back, (count + 1) / 2);
    other.join();
    return sum + other_sum;
}

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "ping_pong") return bench::measure_sum(asked, play);
    const auto wanted = bench::w8::shape_of(asked, unbounded);
    if (!wanted || wanted->is_batched) return std::nullopt;
    return bench::measure_sum(
        asked, [&](std::uint64_t count) { return stream(asked, count, wanted->places); });
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W8", "tbb", measure); }
