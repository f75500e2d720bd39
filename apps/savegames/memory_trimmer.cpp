#include "savegames/memory_trimmer.hpp"

#include <malloc.h>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>

#include <chrono>

namespace savegames {
namespace {

namespace fl = fairlead;

constexpr std::chrono::seconds quiet{1};
constexpr int waits_max = 10;

// This is the allocator's default. But unless the limit is set, the allocator raises it when a
// large block is freed.
constexpr int map_min = 128 << 10;

}  // namespace

void map_large_texts() { ::mallopt(M_MMAP_THRESHOLD, map_min); }

void memory_trimmer::note(std::size_t bytes) {
    const std::lock_guard lock{mutex_};
    const bool was_enough = freed_ >= worth;
    freed_ += bytes;
    ++notes_;
    if (freed_ >= worth && !was_enough) enough_.set();
}

fl::task<> memory_trimmer::run() {
    for (;;) {
        const auto enough = co_await enough_.wait();
        if (!enough) co_return;
        const bool goes_on = co_await wait_for_quiet();
        if (!goes_on) co_return;
        const auto trimmed = co_await fl::as_result(fl::blocking([] { ::malloc_trim(0); }));
        if (!trimmed) co_return;
    }
}

// Waits for a second without a note, at most ten times. False: the service stops.
fl::task<bool> memory_trimmer::wait_for_quiet() {
    std::uint64_t seen = notes();
    for (int waits = 0; waits != waits_max; ++waits) {
        const auto slept = co_await fl::as_result(fl::sleep_for(quiet));
        if (!slept) co_return false;
        const std::uint64_t now = notes();
        if (now == seen) break;
        seen = now;
    }
    const std::lock_guard lock{mutex_};
    freed_ = 0;
    co_return true;
}

std::uint64_t memory_trimmer::notes() const {
    const std::lock_guard lock{mutex_};
    return notes_;
}

}  // namespace savegames
