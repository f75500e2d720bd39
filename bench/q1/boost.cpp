// Boost.Lockfree's queue for many producers and many consumers. It takes its nodes from a free list
// that grows.
#include "q1/front_bench.hpp"

#include <boost/lockfree/queue.hpp>

namespace bench::q1 {
namespace {

class boost_front : public counts_nothing {
public:
    void push(node& item) { queue_.push(&item); }

    template <class Visit>
    std::size_t take(Visit visit) {
        std::size_t taken = 0;
        for (node* item = nullptr; queue_.pop(item); ++taken) visit(*item);
        return taken;
    }

private:
    boost::lockfree::queue<node*> queue_{1024};
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "front") return front_bench<boost_front>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "boost", bench::q1::measure);
}
