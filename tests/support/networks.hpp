// A scheduler on the caller for each network: that of the kernel, one in memory, and one in memory
// that moves bytes in pieces and late.
#pragma once

#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/test/memory_network.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

namespace fairlead::test {

class kernel_home {
public:
    [[nodiscard]] class scheduler& home() { return home_; }
    template <class T>
    T run(task<T> body) {
        auto handle = spawn(home_, std::move(body));
        while (!handle.ended()) home_.run_until(never, 1);
        return handle.get();
    }

private:
    const watchdog guard_;
    scheduler home_{with_epoll_on_caller()};
};

template <bool Rough>
class memory_home {
public:
    [[nodiscard]] class scheduler& home() { return simulated_.scheduler(); }
    template <class T>
    T run(task<T> body) {
        return simulated_.run(std::move(body));
    }

private:
    static std::unique_ptr<driver> network_of(manual_clock& clock) {
        using namespace std::chrono_literals;
        memory_network_options options;
        if (Rough) {
            options = {.seed = 11,
                       .short_moves = true,
                       .latency_min = 10us,
                       .latency_max = 3ms,
                       .buffer = 1000};
        }
        return std::make_unique<memory_network>(clock, options);
    }

    const watchdog guard_;
    simulated_scheduler simulated_{&network_of};
};

using networks = testing::Types<kernel_home, memory_home<false>, memory_home<true>>;

}  // namespace fairlead::test
