#include "q1/block_bench.hpp"
#include "q1/deadline_bench.hpp"
#include "q1/fairlead_queues.hpp"
#include "q1/steal_bench.hpp"

#include <fairlead/detail/timer/deadline_heap.hpp>

#include <new>

namespace bench::q1 {
namespace {

class heap {
public:
    void push(sleeper& item) {
        if (!heap_.push(item, item.deadline)) throw std::bad_alloc{};
    }
    void erase(sleeper& item) noexcept { heap_.erase(item); }
    [[nodiscard]] sleeper* pop() noexcept {
        if (heap_.empty()) return nullptr;
        sleeper& first = heap_.top();
        heap_.erase(first);
        return &first;
    }

private:
    fairlead::timer::deadline_heap<sleeper, &sleeper::index> heap_;
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "front") return front_bench<fairlead_front<counts_nothing>>(asked);
    if (asked.name == "block") return block_bench<fairlead_block<counts_nothing>>(asked);
    if (asked.name == "steal") return steal_bench<fairlead_run<counts_nothing>>(asked);
    if (asked.name == "sleepers") return sleepers_bench<heap>(asked);
    if (asked.name == "cancel") return cancel_bench<heap>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "fairlead", bench::q1::measure);
}
