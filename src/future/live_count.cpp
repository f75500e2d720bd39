#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/future/live_count.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/per_thread.hpp>

#include <array>
#include <cstddef>

namespace fairlead::futures {
namespace {

// Of the pairs that threads with this part made, less those that they freed: so it may be less than
// none. A number alone: relaxed throughout.
struct alignas(base::cache_line) part {
    sync::atomic<std::size_t> count{0};
};

// The first threads that make a pair have a part each, which no other thread writes: it needs no
// read-modify-write, which would be half of the cost of a continuation. Later threads share the
// rest. A part is not given back, so that the end of a thread need not be noticed.
constexpr std::size_t owned = 112;
constexpr std::size_t shared = 16;

constinit std::array<part, owned + shared> parts;
constinit sync::atomic<std::size_t> threads{0};  // those that have a part; relaxed, as `count`

using part_of_thread = sync::per_thread<part*, class part_of_thread_tag>;

[[gnu::noinline]] part& first_use() noexcept {
    const std::size_t index = threads.fetch_add(1, sync::relaxed);
    part& found = parts[index < owned ? index : owned + index % shared];
    part_of_thread::set(&found);
    return found;
}

void add(std::size_t number) noexcept {
    part* const found = part_of_thread::get();
    part& mine = found != nullptr ? *found : first_use();
    if (&mine < &parts[owned]) {
        mine.count.store(mine.count.load(sync::relaxed) + number, sync::relaxed);
    } else {
        mine.count.fetch_add(number, sync::relaxed);
    }
}

}  // namespace

live_count::live_count() noexcept { add(1); }
live_count::~live_count() { add(std::size_t{0} - 1); }

std::size_t live_count::total() noexcept {
    std::size_t sum = 0;
    for (const part& each : parts) sum += each.count.load(sync::relaxed);
    return sum;
}

}  // namespace fairlead::futures
