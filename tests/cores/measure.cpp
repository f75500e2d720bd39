// Measures the costs of this machine for machines.toml: the median of many tries of each.
//
// Two threads, one on each of the first two processors. It needs a machine without other work, and
// cannot see whether there is some: run it a few times, and take the least.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

struct alignas(128) line {
    std::atomic<std::uint64_t> value{0};
    line* next = nullptr;
};

void pin(unsigned processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double nanoseconds_of(const std::function<void()>& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
        .count();
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

void print(const char* name, std::vector<double> tries) {
    std::printf("%-16s %8.2f\n", name, median(std::move(tries)));
}

template <class Body>
void repeat(const char* name, std::uint64_t count, Body body) {
    std::vector<double> tries;
    for (int i = 0; i != 101; ++i) {
        tries.push_back(nanoseconds_of([&] {
                            for (std::uint64_t j = 0; j != count; ++j) body();
                        }) /
                        static_cast<double>(count));
    }
    print(name, std::move(tries));
}

// A token goes to the other processor and back, by one line; the time for one way.
void measure_transfer() {
    constexpr std::uint64_t ways = 2000;
    constexpr int tries_max = 101;
    line token;
    std::thread other{[&] {
        pin(1);
        for (std::uint64_t i = 1; i < ways * tries_max; i += 2) {
            while (token.value.load(memory_order_acquire) != i) {
            }
            token.value.store(i + 1, memory_order_release);
        }
    }};
    std::vector<double> tries;
    std::uint64_t at = 0;
    for (int i = 0; i != tries_max; ++i) {
        tries.push_back(nanoseconds_of([&] {
                            for (std::uint64_t j = 0; j != ways; j += 2) {
                                token.value.store(at + 1, memory_order_release);
                                while (token.value.load(memory_order_acquire) != at + 2) {
                                }
                                at += 2;
                            }
                        }) /
                        static_cast<double>(ways));
    }
    other.join();
    print("transfer", std::move(tries));
}

// The other processor has written many lines. Reads of them, each by the address that the last one
// had, and all at once.
void measure_reads() {
    constexpr std::size_t count = 64;
    constexpr int tries_max = 401;
    std::vector<line> lines(count);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, std::minstd_rand{1});
    for (std::size_t i = 0; i != count; ++i) {
        lines[order[i]].next = &lines[order[(i + 1) % count]];
    }
    std::atomic<int> turn{0};
    std::thread other{[&] {
        pin(1);
        for (int i = 0; i != 2 * tries_max; ++i) {
            while (turn.load(memory_order_acquire) != 2 * i + 1) {
            }
            for (line& each : lines) {
                each.value.store(static_cast<std::uint64_t>(i), memory_order_relaxed);
            }
            turn.store(2 * i + 2, memory_order_release);
        }
    }};
    std::vector<double> chained;
    std::vector<double> scanned;
    std::uint64_t seen = 0;
    for (int i = 0; i != 2 * tries_max; ++i) {
        turn.store(2 * i + 1, memory_order_release);
        while (turn.load(memory_order_acquire) != 2 * i + 2) {
        }
        if (i % 2 == 0) {
            chained.push_back(nanoseconds_of([&] {
                                  const line* at = &lines[0];
                                  for (std::size_t j = 0; j != count; ++j) {
                                      seen += at->value.load(memory_order_acquire);
                                      at = at->next;
                                  }
                              }) /
                              count);
        } else {
            scanned.push_back(nanoseconds_of([&] {
                                  for (std::size_t j = 0; j != count; ++j) {
                                      if (lines[order[j]].value.load(memory_order_acquire) ==
                                          ~std::uint64_t{0}) {
                                          break;
                                      }
                                  }
                              }) /
                              count);
        }
    }
    other.join();
    if (seen == 0) std::puts("nothing was read");
    print("read_chained", std::move(chained));
    print("read_scanned", std::move(scanned));
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// The other thread sleeps, and is woken: how long the call takes here, and the sleeper to be back.
void measure_wake() {
    using clock = std::chrono::steady_clock;
    constexpr int tries_max = 1001;
    std::atomic<std::uint32_t> word{0};
    std::atomic<std::int64_t> back{0};
    const auto now = [] { return clock::now().time_since_epoch().count(); };
    std::thread other{[&] {
        pin(1);
        for (std::uint32_t i = 0; i != tries_max; ++i) {
            while (word.load(memory_order_acquire) == i) futex_wait(word, i);
            back.store(now(), memory_order_release);
        }
    }};
    std::vector<double> call;
    std::vector<double> way;
    for (int i = 0; i != tries_max; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds{50});
        back.store(0, memory_order_relaxed);
        word.store(static_cast<std::uint32_t>(i + 1), memory_order_release);
        const std::int64_t begin = now();
        futex_wake(word);
        call.push_back(static_cast<double>(now() - begin));
        while (back.load(memory_order_acquire) == 0) {
        }
        way.push_back(static_cast<double>(back.load(memory_order_relaxed) - begin));
    }
    other.join();
    print("futex_wake", std::move(call));
    print("woken", std::move(way));
}

}  // namespace

int main() {
    pin(0);
    line own;
    repeat("rmw", 10'000, [&] { own.value.fetch_add(1, memory_order_relaxed); });
    repeat("clock", 10'000, [] { static_cast<void>(std::chrono::steady_clock::now()); });
    repeat("yield", 1'000, [] { ::sched_yield(); });
    repeat("pause", 10'000, [] { __builtin_ia32_pause(); });
    std::atomic<std::uint32_t> nobody{0};
    repeat("futex_call", 1'000, [&] { futex_wake(nobody); });
    measure_transfer();
    measure_reads();
    measure_wake();
}
