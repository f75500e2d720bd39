// The same queues with atomics that count failed exchanges. Its times mean nothing.
#include "q1/block_bench.hpp"
#include "q1/counting_atomic.hpp"
#include "q1/fairlead_queues.hpp"
#include "q1/steal_bench.hpp"

#include <utility>

namespace bench::q1 {
namespace {

struct counts_exchanges {
    static constexpr bool counts = true;

    /// Of the calling thread since it was asked last.
    [[nodiscard]] static std::uint64_t contended_here() noexcept {
        return std::exchange(q1::contended_here, 0);
    }
    [[nodiscard]] static std::uint64_t contended() noexcept { return 0; }
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "front") return front_bench<fairlead_front<counts_exchanges>>(asked);
    if (asked.name == "block") return block_bench<fairlead_block<counts_exchanges>>(asked);
    if (asked.name == "steal") return steal_bench<fairlead_run<counts_exchanges>>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "fairlead_counted", bench::q1::measure);
}
