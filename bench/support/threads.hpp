// Threads that all begin at the same moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

namespace bench {

/// `count` threads that run `body(index)` from `go` on.
class starting_line {
public:
    starting_line(std::uint64_t count, std::function<void(std::size_t)> body)
        : body_{std::move(body)}, ready_{static_cast<std::ptrdiff_t>(count)} {
        for (std::size_t i = 0; i != count; ++i) {
            threads_.emplace_back([this, i] {
                ready_.count_down();
                shot_.wait();
                body_(i);
            });
        }
        ready_.wait();
    }

    void go() { shot_.count_down(); }

    void join() {
        for (std::thread& each : threads_) each.join();
        threads_.clear();
    }

private:
    std::function<void(std::size_t)> body_;
    std::latch ready_;
    std::latch shot_{1};
    std::vector<std::thread> threads_;
};

}  // namespace bench
