// moodycamel's queue of pointers. It allocates, and keeps order per producer only: an advantage
// where there are several.
#include "q1/block_bench.hpp"
#include "q1/front_bench.hpp"

#include <concurrentqueue/concurrentqueue.h>

#include <array>

namespace bench::q1 {
namespace {

class moodycamel_front : public counts_nothing {
public:
    void push(node& item) { queue_.enqueue(&item); }

    template <class Visit>
    std::size_t take(Visit visit) {
        std::array<node*, 256> out;
        const std::size_t taken = queue_.try_dequeue_bulk(token_, out.data(), out.size());
        for (std::size_t i = 0; i != taken; ++i) visit(*out[i]);
        return taken;
    }

private:
    moodycamel::ConcurrentQueue<node*> queue_;
    moodycamel::ConsumerToken token_{queue_};
};

class moodycamel_block : public counts_nothing {
public:
    class consumer {
    public:
        explicit consumer(moodycamel_block& from) : queue_{from.queue_}, token_{from.queue_} {}

        std::size_t claim(std::span<node*> out) {
            return queue_.try_dequeue_bulk(token_, out.data(), out.size());
        }

    private:
        moodycamel::ConcurrentQueue<node*>& queue_;
        moodycamel::ConsumerToken token_;
    };

    void push(std::span<node* const> items) {
        queue_.enqueue_bulk(token_, items.data(), items.size());
    }

private:
    moodycamel::ConcurrentQueue<node*> queue_;
    moodycamel::ProducerToken token_{queue_};
};

std::optional<measurement> measure(const options& asked) {
    if (asked.name == "front") return front_bench<moodycamel_front>(asked);
    if (asked.name == "block") return block_bench<moodycamel_block>(asked);
    return std::nullopt;
}

}  // namespace
}  // namespace bench::q1

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "Q1", "moodycamel", bench::q1::measure);
}
