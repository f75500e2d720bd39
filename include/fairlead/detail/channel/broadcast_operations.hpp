// The operations of a broadcast that may wait: see task_wait.hpp for what an operation is.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/broadcast_state.hpp>

#include <expected>
#include <optional>
#include <utility>

namespace fairlead::channels {

template <class T>
class broadcast_send : public broadcast_sender<T> {
public:
    broadcast_send(broadcast_state<T>& of, held<const T> value) noexcept
        : broadcast_sender<T>{std::move(value)}, of_{of} {}

    [[nodiscard]] bool enter() noexcept { return of_.enter(*this); }
    [[nodiscard]] bool try_enter() noexcept { return of_.try_enter(*this); }
    [[nodiscard]] bool leave() noexcept { return of_.leave(*this); }
    [[nodiscard]] waited<void> collect(std::optional<wait_error> early) noexcept {
        if (this->take_grant()) return {};
        return std::unexpected{early.value_or(wait_error::closed)};
    }

protected:
    broadcast_send(broadcast_send&&) noexcept = default;
    ~broadcast_send() = default;

private:
    broadcast_state<T>& of_;
};

// A value that was granted and not collected ends with the operation.
template <class T>
class broadcast_receive : public broadcast_receiver<T> {
public:
    // `is_waiting` is of the subscription, for its assertions.
    broadcast_receive(broadcast_state<T>& of, cursor& at, bool& is_waiting) noexcept
        : broadcast_receiver<T>{at}, of_{of}, is_waiting_{is_waiting} {}

    [[nodiscard]] bool enter() noexcept {
        FAIRLEAD_ASSERT(!is_waiting_, "a subscription was asked twice at the same time");
        return is_waiting_ = has_entered_ = of_.enter(*this);
    }
    [[nodiscard]] bool try_enter() noexcept {
        FAIRLEAD_ASSERT(!is_waiting_, "a subscription was asked twice at the same time");
        return of_.try_enter(*this);
    }
    // Of a branch of a select it is the end, also if the wait was dropped before.
    [[nodiscard]] bool leave() noexcept {
        end();
        return of_.leave(*this);
    }
    [[nodiscard]] waited<held<const T>> collect(std::optional<wait_error> early) noexcept {
        end();
        if (this->take_grant()) return this->take_value();
        return std::unexpected{early.value_or(wait_error::closed)};
    }

protected:
    broadcast_receive(broadcast_receive&&) noexcept = default;
    ~broadcast_receive() { end(); }

private:
    void end() noexcept {
        if (std::exchange(has_entered_, false)) is_waiting_ = false;
    }

    broadcast_state<T>& of_;
    bool& is_waiting_;
    bool has_entered_ = false;
};

}  // namespace fairlead::channels
