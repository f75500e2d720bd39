// std::future has no continuations. The nearest is a deferred call that takes the future before it:
// the last `get` calls all of them, on the stack, one within the other.
#include "w22/waiting.hpp"

#include <future>
#include <utility>

namespace {

using bench::measurement;
using bench::options;

std::uint64_t run_chains(std::uint64_t chains, std::uint64_t continuations) {
    std::uint64_t sum = 0;
    for (; chains != 0; --chains) {
        std::promise<std::uint64_t> promise;
        std::future<std::uint64_t> last = promise.get_future();
        for (std::uint64_t i = 0; i != continuations; ++i) {
            last = std::async(std::launch::deferred,
                              [before = std::move(last)]() mutable { return before.get() + 1; });
        }
        promise.set_value(0);
        sum += last.get();
    }
    return sum;
}

std::optional<measurement> measure(const options& asked) {
    if (asked.name != "future") return std::nullopt;
    return bench::w22::measure_chains(
        asked, [&](std::uint64_t chains) { return run_chains(chains, asked.chains); });
}

}  // namespace

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W22", "std_future", measure);
}
