#include <fairlead/coro/foreign_wait.hpp>
#include <fairlead/sync/recycler.hpp>

#include <coroutine>

namespace fairlead::coro {
namespace {

// The coroutine whose handle a foreign awaiter gets: resumed once, it completes the task and frees
// itself.
struct resumption {
    struct promise_type : sync::recycled {
        explicit promise_type(resumable& waiting) noexcept : waiting_{&waiting} {}
        promise_type(const promise_type&) = delete;
        promise_type& operator=(const promise_type&) = delete;
        ~promise_type() {
            if (waiting_ != nullptr) waiting_->dropped();
        }

        [[nodiscard]] resumption get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() noexcept { take()->resumed(); }
        void unhandled_exception() const noexcept {}

        resumable* take() noexcept { return std::exchange(waiting_, nullptr); }

    private:
        resumable* waiting_;
    };

    std::coroutine_handle<promise_type> handle;
};

resumption make_resumption(resumable& waiting) {
    static_cast<void>(waiting);
    co_return;
}

}  // namespace

std::coroutine_handle<> resumable::begin(root& waiting) {
    waiting_ = &waiting;
    return make_resumption(*this).handle;
}

void resumable::take_back(std::coroutine_handle<> handle) noexcept {
    const auto made =
        std::coroutine_handle<resumption::promise_type>::from_address(handle.address());
    static_cast<void>(made.promise().take());
    made.destroy();
}

}  // namespace fairlead::coro
