// The structures of the library by themselves, on one thread, without contention.
#include "counts/meter.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/fork_deque.hpp>
#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/detail/timer/deadline_heap.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <span>

namespace bench::counts {
namespace {

struct node {
    node* next = nullptr;
    std::int32_t index = -1;
};

constexpr std::size_t claim = 128;  // what a worker takes at most

// What comes out must be what went in; a wrong count would be a count of something else.
void expect(bool condition) {
    if (!condition) std::abort();
}

void front_queue(std::uint64_t operations) {
    fairlead::lockfree::front_queue<node, &node::next> queue;
    std::array<node, burst> nodes;
    for (std::uint64_t done = 0; done != operations; done += burst) {
        for (node& each : nodes) queue.push(each);
        auto taken = queue.take_all();
        for (node& each : nodes) expect(taken.pop_front() == &each);
    }
}

void block_queue(std::uint64_t operations) {
    using queue_of_nodes = fairlead::lockfree::block_queue<node>;
    queue_of_nodes queue;
    queue_of_nodes::consumer worker{queue};
    std::array<node, claim> nodes;
    std::array<node*, claim> in;
    for (std::size_t i = 0; i != claim; ++i) in[i] = &nodes[i];
    for (std::uint64_t done = 0; done != operations; done += claim) {
        expect(queue.push(in) == claim);
        std::array<node*, claim> out;
        expect(worker.claim(out) == claim && out[0] == in[0]);
    }
}

void run_queue(std::uint64_t operations) {
    fairlead::lockfree::run_queue<node> run;
    std::array<node, claim> nodes;
    std::array<node*, claim> in;
    for (std::size_t i = 0; i != claim; ++i) in[i] = &nodes[i];
    for (std::uint64_t done = 0; done != operations; done += claim) {
        run.push(in);
        for (node& each : nodes) expect(run.pop() == &each);
    }
}

template <std::size_t OpenMin>
void fork_deque(std::uint64_t operations) {
    fairlead::lockfree::fork_deque<node> forks{OpenMin};
    node item;
    for (std::uint64_t done = 0; done != operations; ++done) {
        expect(forks.push(item));
        expect(forks.open() == (OpenMin != 0));
        expect(forks.pop() == &item);
    }
}

void recycler(std::uint64_t operations) {
    std::array<void*, burst> blocks;
    for (std::uint64_t done = 0; done != operations; done += burst) {
        for (void*& each : blocks) each = fairlead::sync::allocate_recycled(64);
        for (void* const each : blocks) fairlead::sync::free_recycled(each, 64);
    }
}

// Later deadlines than most go in at once, the first goes out.
void deadline_heap(std::uint64_t operations) {
    fairlead::timer::deadline_heap<node, &node::index> heap;
    std::array<node, burst> nodes;
    std::int64_t ns = 0;
    for (node& each : nodes) {
        expect(heap.push(each, fairlead::time_point{std::chrono::nanoseconds{++ns}}));
    }
    for (std::uint64_t done = 0; done != operations; ++done) {
        node& first = heap.top();
        heap.erase(first);
        expect(heap.push(first, fairlead::time_point{std::chrono::nanoseconds{++ns}}));
    }
}

}  // namespace

void measure_structures(meter& to) {
    to.section("structures");
    to.measure("front queue: push, and take 256 at once", front_queue);
    to.measure("block queue: push and claim, 128 at once", block_queue);
    to.measure("run queue: push 128 at once, and pop", run_queue);
    to.measure("fork deque: push and pop, hidden", fork_deque<0>);
    to.measure("fork deque: push and pop, open", fork_deque<1>);
    to.measure("recycler: allocate and free", recycler);
    to.measure("deadline heap: push and pop, of 256", deadline_heap);
}

}  // namespace bench::counts
