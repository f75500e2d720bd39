#include <fairlead/base/clock_override.hpp>
#include <fairlead/base/time.hpp>
#include <fairlead/detail/base/assert.hpp>

#include <ctime>
#include <utility>

namespace fairlead {
namespace {

// Null: the clock of the system. Of this thread alone, so no other thread reads or writes it.
constinit thread_local const clock_source* source_of_thread = nullptr;

}  // namespace

// noinline: link-time optimisation must not move it into a coroutine either.
[[gnu::noinline]] time_point clock::now() noexcept {
    if (source_of_thread != nullptr) [[unlikely]]
        return source_of_thread->now();
    return system_now();
}

time_point clock::system_now() noexcept {
    std::timespec since_boot{};
    clock_gettime(CLOCK_MONOTONIC, &since_boot);  // cannot fail
    return time_point{std::chrono::seconds{since_boot.tv_sec} +
                      std::chrono::nanoseconds{since_boot.tv_nsec}};
}

clock_override::clock_override(const clock_source& source) noexcept
    : source_{source}, outer_{std::exchange(source_of_thread, &source)} {}

clock_override::~clock_override() {
    FAIRLEAD_ASSERT(source_of_thread == &source_,
                    "overrides of the clock end in the opposite order, on the thread that made "
                    "them");
    source_of_thread = outer_;
}

bool clock_override::is_active() noexcept { return source_of_thread != nullptr; }

}  // namespace fairlead
