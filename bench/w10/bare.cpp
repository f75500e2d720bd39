// Suspended coroutines and nothing else: what the compiler's frame needs, and malloc. The floor.
#include "w10/sleeping.hpp"

#include <coroutine>
#include <exception>
#include <vector>

namespace {

struct bare {
    struct promise_type {
        bare get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<> frame;
};

bare park() {
    bench::tally::add();
    co_await std::suspend_always{};
}

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.name != "parked") return std::nullopt;
    std::vector<std::coroutine_handle<>> parked(asked.count + 100);  // touched: not counted
    auto next = parked.begin();
    auto found = bench::w10::measure_sleepers(asked.count, [&] { *next++ = park().frame; });
    for (const auto each : parked) each.destroy();
    return found;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W10", "bare", measure); }
