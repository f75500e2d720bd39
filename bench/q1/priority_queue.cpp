// The deadlines in the binary heap of the standard library. It cannot cancel, and so never tells a
// sleeper its index: an advantage where it takes part.
#include "q1/deadline_bench.hpp"

#include <queue>

namespace bench::q1 {
namespace {

class binary_heap {
public:
    void push(sleeper& item) { heap_.push({item.deadline, &item}); }
    [[nodiscard]] sleeper* pop() {
        if (heap_.empty()) return nullptr;
        sleeper* const first = heap_.top().item;
        heap_.pop();
        return first;
    }

private:
    struct entry {
        fairlead::time_point deadline;
        sleeper* item;
        bool operator<(const entry& other) const noexcept { return deadline > other.deadline; }
    };

    std::priority_queue<entry> heap_;
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "sleepers") return sleepers_bench<binary_heap>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "priority_queue", bench::q1::measure);
}
