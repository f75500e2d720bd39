#include <fairlead/detail/coro/failure_trail.hpp>

#include <new>
#include <utility>

namespace fairlead::coro {

void kept_trail::keep(std::unique_ptr<failure_trail> trail) noexcept {
    delete std::exchange(trail_, trail.release());
}

const failure_trail* kept_trail::of(const std::exception_ptr& failure) const noexcept {
    return trail_ != nullptr && trail_->failure == failure ? trail_ : nullptr;
}

std::unique_ptr<failure_trail> kept_trail::take(const std::exception_ptr& failure) noexcept {
    if (of(failure) == nullptr) return nullptr;
    return std::unique_ptr<failure_trail>{std::exchange(trail_, nullptr)};
}

std::unique_ptr<failure_trail> kept_trail::take_with(const std::exception_ptr& failure,
                                                     failed_task last) noexcept {
    std::unique_ptr<failure_trail> trail = take(failure);
    try {
        if (trail == nullptr) trail.reset(new failure_trail{failure, {}});
        trail->tasks.push_back(last);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    return trail;
}

void kept_trail::forget() noexcept { delete trail_; }

}  // namespace fairlead::coro
