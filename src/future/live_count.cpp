#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/future/live_count.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/per_thread.hpp>

#include <array>
#include <cstddef>

namespace fairlead::futures {
namespace {

struct alignas(base::cache_line) part {
    // Of the pairs that threads with this part made, less those that they freed: so it may be less
    // than none. A number alone: relaxed throughout.
    sync::atomic<std::size_t> count{0};
};

constinit std::array<part, 16> parts;
constinit sync::atomic<std::size_t> threads{0};  // those that have a part; relaxed, as `count`

using own_part = sync::per_thread<part*, class part_of_thread>;

part& part_of_this_thread() noexcept {
    part* own = own_part::get();
    if (own == nullptr) {
        own = &parts[threads.fetch_add(1, sync::relaxed) % parts.size()];
        own_part::set(own);
    }
    return *own;
}

}  // namespace

live_count::live_count() noexcept { part_of_this_thread().count.fetch_add(1, sync::relaxed); }
live_count::~live_count() { part_of_this_thread().count.fetch_sub(1, sync::relaxed); }

std::size_t live_count::total() noexcept {
    std::size_t sum = 0;
    for (const part& each : parts) sum += each.count.load(sync::relaxed);
    return sum;
}

}  // namespace fairlead::futures
