// Plain functions that are called in parallel.
#include "counts/meter.hpp"

#include <fairlead/sched/parallel_invoke.hpp>

#include <cstdint>
#include <vector>

namespace fl = fairlead;

namespace bench::counts {
namespace {

fl::task<> call_two(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) fl::parallel_invoke([] {}, [] {});
    co_return;
}

// Below an older call, as nearly all of a tree are.
fl::task<> call_two_below_another(fl::scheduler&, std::uint64_t operations) {
    fl::parallel_invoke(
        [operations] {
            for (auto left = operations; left != 0; --left) fl::parallel_invoke([] {}, [] {});
        },
        [] {});
    co_return;
}

fl::task<> call_for_each(fl::scheduler&, std::uint64_t operations) {
    std::vector<std::uint8_t> elements(operations);
    fl::parallel_for_each(elements, [](std::uint8_t& each) { each = 1; });
    co_return;
}

}  // namespace

void measure_calls(meter& to) {
    to.section("calls");
    to.measure("call two in parallel, alone", call_two);
    to.measure("call two in parallel, below another call", call_two_below_another);
    to.measure("call for each element, each", call_for_each);
}

}  // namespace bench::counts
