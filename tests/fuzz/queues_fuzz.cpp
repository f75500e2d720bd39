// Operations of one thread on chains, front queues, block queues and run queues, against
// std::deque. The first byte chooses the structure. The blocks are small, so that they are used
// again. The address sanitizer checks that no block in use is freed, and that each is freed in the
// end.
#include "fuzz/queues_check.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>

#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    using fuzz::node;
    constexpr std::size_t block_size = 4;
    using blocks = fuzz::block_queue_check<lockfree::block_queue<node, block_size>, block_size>;

    fuzz::input bytes{{data, size}};
    switch (bytes.below(4)) {
        case 0:
            fuzz::check_chains<base::chain<node, &node::next>>(bytes);
            break;
        case 1:
            fuzz::check_front_queue<lockfree::front_queue<node, &node::next>>(bytes);
            break;
        case 2:
            std::make_unique<blocks>()->run(bytes);
            break;
        default:
            fuzz::check_run_queue<lockfree::run_queue<node, 8>>(bytes);
            break;
    }
    return 0;
}
