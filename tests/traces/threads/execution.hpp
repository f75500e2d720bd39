// Executions by real threads, as they come.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <random>
#include <string>
#include <thread>

namespace fairlead::traces {

/// Numbers of threads: 1 for the recording thread, then the threads that the library starts, in the
/// order in which they ask, then the threads of in_threads.
inline sync::atomic<std::size_t> library_threads{0};
inline constexpr std::size_t library_threads_max = 3;
inline thread_local std::size_t number_of_thread = 0;
inline std::size_t this_thread() {
    if (number_of_thread == 0) number_of_thread = 2 + library_threads.fetch_add(1, sync::relaxed);
    return number_of_thread;
}

/// Runs each of `bodies` in a thread of its own, all at once; all have ended when it returns.
template <class... Bodies>
void in_threads(const Bodies&... bodies) {
    std::latch missing{sizeof...(bodies)};
    std::size_t number = 1 + library_threads_max;
    const auto start = [&](const auto& body) {
        return std::jthread{[&, own = ++number] {
            number_of_thread = own;
            missing.count_down();
            while (!missing.try_wait()) std::this_thread::yield();
            body();
        }};
    };
    const std::jthread running[]{start(bodies)...};
}

inline constexpr bool by_model_checker = false;

/// How much of something a scenario does: traces are longer than those of the model checker, and
/// fewer.
inline constexpr unsigned few = 5;
inline constexpr unsigned some = 8;

class execution_clock {
public:
    /// A read-modify-write, by which the processors that this is run on see the calls before it
    /// done.
    std::uint64_t tick() noexcept { return now_.fetch_add(1, sync::seq_cst); }
    void reset() noexcept { now_.store(0, sync::relaxed); }  // the threads have ended

private:
    sync::atomic<std::uint64_t> now_{0};
};

/// The model checker's; here all memory is alike.
struct outside {
    outside() {}
};

inline unsigned choose(unsigned count) {
    thread_local std::minstd_rand random{std::random_device{}()};
    return static_cast<unsigned>(random() % count);
}

/// Called between the beginning of a call and its effect, so that other threads interrupt it more
/// often.
inline void dawdle() {
    if (choose(2) == 0) std::this_thread::yield();
}

/// Waits a random time, in which the other threads may come to rest.
inline void linger() {
    const time_point end = clock::now() + std::chrono::microseconds{choose(300)};
    while (clock::now() < end) std::this_thread::yield();
}

/// A deadline that an event may come before.
inline time_point soon() { return clock::now() + std::chrono::microseconds{20}; }
/// A deadline after `soon`.
inline time_point later() { return clock::now() + std::chrono::microseconds{50}; }

/// When some of what goes on has come before, and some has not; or after all of it, also on a
/// loaded machine.
inline time_point some_time_later() {
    using namespace std::chrono_literals;
    const bool amidst = choose(2) == 0;
    return clock::now() + (amidst ? 300us : 20ms) + std::chrono::microseconds{choose(1'000)};
}
/// After so long nothing goes on any more, most likely.
inline constexpr duration patience = std::chrono::milliseconds{5};

[[noreturn]] inline void give_up(const std::string& why) {
    std::fprintf(stderr, "trace recorder: %s\n", why.c_str());
    std::exit(1);
}

inline void execute(unsigned count, bool, const std::function<void()>& scenario,
                    const std::function<void()>& ended) {
    number_of_thread = 1;
    for (unsigned i = 0; i != count; ++i) {
        library_threads.store(0, sync::relaxed);  // they have ended
        scenario();
        ended();
    }
}

}  // namespace fairlead::traces
