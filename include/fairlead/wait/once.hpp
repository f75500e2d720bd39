// A value that is made once, when it is first needed, by a task or a thread that may wait for it.
//
//     fl::once<config> loaded;
//     fl::waited<config*> all = co_await loaded.get_or_init([&] { return load(path); }, deadline);
//
// If the task that makes the value fails or is stopped, the next task that waits makes it. So a
// failure is the failure of one caller; a value that cannot be made is tried by each caller.
//
// Any thread. A wait allocates nothing; `get_or_init` is a coroutine, whose frame comes from
// recycled memory. When the value is there, `try_get` is one load.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/wait/right_to_make.hpp>

#include <concepts>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace fairlead {

/// A value that is made once. Any thread.
template <class T>
class once {
    class value_operation : public coro::operation_on<sync::once_state> {
    public:
        explicit value_operation(once& of) noexcept
            : operation_on<sync::once_state>{of.state_, false}, once_{of} {}

        [[nodiscard]] waited<T*> collect(std::optional<wait_error> early) noexcept {
            const auto ended = operation_on<sync::once_state>::collect(early);
            if (!ended) return std::unexpected{ended.error()};
            return once_.pointer();
        }

    protected:
        value_operation(value_operation&&) noexcept = default;
        ~value_operation() = default;

    private:
        once& once_;
    };

public:
    once() = default;
    once(const once&) = delete;
    once& operator=(const once&) = delete;
    /// Nothing may make the value or wait for it. A task that goes on from a wait may destroy it.
    ~once() = default;

    /// The value, or null: it was not made yet. What was done to make it is seen.
    [[nodiscard]] T* try_get() noexcept { return state_.is_ready() ? pointer() : nullptr; }
    /// The same of a constant one.
    [[nodiscard]] const T* try_get() const noexcept {
        return state_.is_ready() ? std::addressof(*value_) : nullptr;
    }

    /// Gives the value. If it is not there and no task makes it, this task does: `make()` gives a
    /// `task<T>`, which is awaited, or the value. If another task makes it, this one waits, until
    /// `deadline` at the latest: `waited<T*>` may be `stopped` or `expired`. The deadline bounds
    /// the wait, not the making.
    ///
    /// What `make` throws is thrown to its caller, and the oldest wait of another `get_or_init`
    /// calls its own `make`. `make` must not wait for the same value.
    template <std::invocable Make>
    [[nodiscard]] task<waited<T*>> get_or_init(Make make, time_point deadline = never) {
        if (T* const there = try_get()) co_return there;
        const waited<bool> must_make =
            co_await coro::task_wait<wait::right_operation>{deadline, state_};
        if (!must_make) co_return std::unexpected{must_make.error()};
        if (*must_make) {
            wait::right_to_make right{state_};
            if constexpr (std::convertible_to<std::invoke_result_t<Make&>, T>) {
                value_.emplace(std::invoke(make));
            } else {
                value_.emplace(co_await std::invoke(make));
            }
            T* const made = pointer();
            right.use();
            co_return made;
        }
        co_return pointer();
    }

    /// The same on this thread, which must not be a worker's; `make()` gives the value. The
    /// deadline is by the clock of the system.
    template <std::invocable Make>
        requires std::convertible_to<std::invoke_result_t<Make&>, T>
    [[nodiscard]] waited<T*> get_or_init_blocking(Make make, time_point deadline = never) {
        if (T* const there = try_get()) return there;
        const waited<bool> must_make =
            coro::wait_on_thread<wait::right_operation>(deadline, state_);
        if (!must_make) return std::unexpected{must_make.error()};
        return *must_make ? make_value(make) : pointer();
    }

    /// Makes the value on this thread, which may be any, if no task or thread makes it or has made
    /// it. Gives the value if it is there now; null: another makes it. Throws what `make` throws.
    template <std::invocable Make>
        requires std::convertible_to<std::invoke_result_t<Make&>, T>
    [[nodiscard]] T* try_init(Make make) {
        if (!state_.try_begin()) return try_get();
        return make_value(make);
    }

    /// Waits until another task or thread has made the value, until `deadline` at the latest, and
    /// does not make it: `waited<T*>`, which may be `stopped` or `expired`.
    [[nodiscard]] auto wait(time_point deadline = never) noexcept {
        return coro::task_wait<value_operation>{deadline, *this};
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    [[nodiscard]] waited<T*> wait_blocking(time_point deadline = never) {
        return coro::wait_on_thread<value_operation>(deadline, *this);
    }

private:
    // By the holder of the right. The value is there when the right is used: the last touch.
    template <class Make>
    [[nodiscard]] T* make_value(Make& make) {
        wait::right_to_make right{state_};
        value_.emplace(std::invoke(make));
        T* const made = pointer();
        right.use();
        return made;
    }

    [[nodiscard]] T* pointer() noexcept { return std::addressof(*value_); }

    sync::once_state state_;
    std::optional<T> value_;  // written by the holder of the right, read when it is ready
};

}  // namespace fairlead
