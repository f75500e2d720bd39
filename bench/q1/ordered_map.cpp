// The deadlines in a tree of the standard library.
#include "q1/deadline_bench.hpp"

namespace bench::q1 {
namespace {

class ordered_map {
public:
    void push(sleeper& item) { item.entry = tree_.emplace(item.deadline, &item); }
    void erase(sleeper& item) { tree_.erase(item.entry); }
    [[nodiscard]] sleeper* pop() {
        if (tree_.empty()) return nullptr;
        sleeper* const first = tree_.begin()->second;
        tree_.erase(tree_.begin());
        return first;
    }

private:
    std::multimap<fairlead::time_point, sleeper*> tree_;
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "sleepers") return sleepers_bench<ordered_map>(asked);
    if (asked.name == "cancel") return cancel_bench<ordered_map>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "ordered_map", bench::q1::measure);
}
