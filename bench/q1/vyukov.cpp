#include "q1/front_bench.hpp"
#include "q1/vyukov_queue.hpp"

namespace bench::q1 {
namespace {

class vyukov_front : public counts_nothing {
public:
    void push(node& item) noexcept { queue_.push(item); }

    template <class Visit>
    std::size_t take(Visit visit) noexcept {
        std::size_t taken = 0;
        for (; node* const item = queue_.pop(); ++taken) visit(*item);
        return taken;
    }

private:
    vyukov_queue queue_;
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "front") return front_bench<vyukov_front>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "vyukov", bench::q1::measure);
}
