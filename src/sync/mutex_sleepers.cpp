// First: another atomic seam may define its mutex by the header of the sleepers.
#include <fairlead/detail/sync/mutex.hpp>

#include <fairlead/detail/sync/mutex_sleepers.hpp>

#include <fairlead/detail/os/barrier.hpp>

namespace fairlead::sync {
namespace {

// Whether all threads have passed a barrier.
bool pass_barrier() noexcept {
    static const bool is_there = os::has_heavy_barrier();
    return is_there && os::heavy_barrier();
}

}  // namespace

mutex_sleepers::mutex_sleepers(const std::uint32_t* address) noexcept : of_{at(address)} {
    of_.fetch_add(1, relaxed);  // relaxed: the barriers order it
    is_seen_ = pass_barrier();  // [FM1]
}

time_point mutex_sleepers::next_look() const noexcept {
    return is_seen_ ? never : clock::system_now() + std::chrono::milliseconds{1};
}

}  // namespace fairlead::sync
