// Pushes, pops, erasures anywhere and bursts on the heap of deadlines, against a std::set.
#include "fuzz/deadline_heap_check.hpp"

#include <fairlead/detail/timer/deadline_heap.hpp>

#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    using heap = timer::deadline_heap<fuzz::sleeper, &fuzz::sleeper::index>;
    std::make_unique<fuzz::deadline_heap_check<heap>>()->run(fuzz::input{{data, size}});
    return 0;
}
