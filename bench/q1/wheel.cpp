#include "q1/timer_wheel.hpp"

namespace bench::q1 {
namespace {

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "sleepers") return sleepers_bench<timer_wheel>(asked);
    if (asked.name == "cancel") return cancel_bench<timer_wheel>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "wheel", bench::q1::measure);
}
