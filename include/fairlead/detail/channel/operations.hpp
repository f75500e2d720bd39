// The operations of a channel that may wait: see task_wait.hpp for what an operation is.
#pragma once

#include <fairlead/channel/channel_permit.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/channel_state.hpp>

#include <cstddef>
#include <expected>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace fairlead::channels {

// What all operations have in common. `Wait`: sender_wait or receiver_wait.
template <class T, class Wait>
class operation : public Wait {
public:
    [[nodiscard]] bool enter() {
        proceed(true);
        return entry_ == progress::waits;
    }
    // Ends at once, or does not begin: false.
    [[nodiscard]] bool try_enter() {
        proceed(false);
        return entry_ != progress::full;
    }
    [[nodiscard]] bool leave() noexcept { return of_.leave(*this); }

protected:
    template <class... Args>
    explicit operation(channel_state<T>& of, Args... args) noexcept : Wait{args...}, of_{of} {}
    operation(operation&&) noexcept = default;
    ~operation() = default;

    // To be moved: it was not awaited.
    [[nodiscard]] channel_state<T>& not_begun() const noexcept {
        FAIRLEAD_ASSERT(!entry_, "a wait was moved after it had begun");
        return of_;
    }

    // Why there is no result.
    [[nodiscard]] wait_error error(std::optional<wait_error> early) const noexcept {
        if (early) return *early;
        return entry_ == progress::full ? wait_error::would_wait : wait_error::closed;
    }
    [[nodiscard]] channel_state<T>& of() const noexcept { return of_; }

private:
    void proceed(bool may_wait) {
        FAIRLEAD_ASSERT(!entry_ || this->has_choice(), "a wait for a channel was awaited twice");
        entry_ = progress::closed;  // also if it throws
        if constexpr (std::is_same_v<Wait, sender_wait<T>>) this->begin();
        entry_ = of_.enter(*this, may_wait);
    }

    channel_state<T>& of_;
    std::optional<progress> entry_;
};

template <class T>
using sending = operation<T, sender_wait<T>>;
template <class T>
using receiving = operation<T, receiver_wait<T>>;

template <class T>
class send_operation : public sending<T> {
public:
    send_operation(channel_state<T>& of, std::span<typename sent<T>::value> value) noexcept
        : sending<T>{of, value} {}

    [[nodiscard]] waited<void> collect(std::optional<wait_error> early) noexcept {
        if (this->take_grant()) return {};
        return std::unexpected{this->error(early)};
    }

protected:
    send_operation(send_operation&&) noexcept = default;
    ~send_operation() = default;
};

template <class T>
class send_many_operation : public sending<T> {
public:
    // What was sent before another branch of a select has ended could not be taken back.
    static constexpr bool is_partial = true;

    send_many_operation(channel_state<T>& of, std::span<typename sent<T>::value> values) noexcept
        : sending<T>{of, values}, first_{values.data()} {}

    // What was sent before the memory ran out is the result.
    [[nodiscard]] bool enter() {
        try {
            return sending<T>::enter();
        } catch (const std::bad_alloc&) {
            if (this->next() == first_) throw;
            return false;
        }
    }
    [[nodiscard]] bool try_enter() {
        try {
            return sending<T>::try_enter();
        } catch (const std::bad_alloc&) {
            if (this->next() == first_) throw;
            return true;
        }
    }

    [[nodiscard]] waited<std::size_t> collect(std::optional<wait_error> early) noexcept {
        const auto sent = static_cast<std::size_t>(this->next() - first_);
        if (this->take_grant() || sent != 0) return sent;
        return std::unexpected{this->error(early)};
    }

protected:
    send_many_operation(send_many_operation&&) noexcept = default;
    ~send_many_operation() = default;

private:
    sent<T>::value* const first_;
};

template <class T>
class reserve_operation : public sending<T> {
public:
    explicit reserve_operation(channel_state<T>& of) noexcept : sending<T>{of} {}

    [[nodiscard]] waited<channel_permit<T>> collect(std::optional<wait_error> early) noexcept {
        if (this->take_grant()) return channel_permit<T>{this->of()};
        return std::unexpected{this->error(early)};
    }

protected:
    reserve_operation(reserve_operation&&) noexcept = default;
    ~reserve_operation() {
        if (this->take_grant()) this->of().give_back_reserved();
    }
};

template <class T>
class receive_operation : public receiving<T> {
public:
    explicit receive_operation(channel_state<T>& of) noexcept
        : receiving<T>{of, std::addressof(element_), std::size_t{1}, true} {}

    [[nodiscard]] waited<T> collect(std::optional<wait_error> early) noexcept {
        if (!this->take_grant()) return std::unexpected{this->error(early)};
        waited<T> result{std::in_place, std::move(element_)};
        std::destroy_at(std::addressof(element_));
        return result;
    }

protected:
    receive_operation(receive_operation&& other) noexcept : receive_operation{other.not_begun()} {}
    ~receive_operation() {
        if (!this->take_grant()) return;
        this->of().drop(std::move(element_));
        std::destroy_at(std::addressof(element_));
    }

private:
    union {
        T element_;  // exists while there is a grant
    };
};

template <class T>
class receive_many_operation : public receiving<T> {
    static_assert(std::is_nothrow_move_assignable_v<T>,
                  "a receive of many elements assigns them under a lock: this must not throw");

public:
    receive_many_operation(channel_state<T>& of, std::span<T> into) noexcept
        : receiving<T>{of, into.data(), into.size(), false}, first_{into.data()} {
        FAIRLEAD_ASSERT(!into.empty(), "a receive of many elements has room for none");
    }

    [[nodiscard]] waited<std::size_t> collect(std::optional<wait_error> early) noexcept {
        if (!this->take_grant()) return std::unexpected{this->error(early)};
        this->of().take_more(*this);
        return count();
    }

protected:
    receive_many_operation(receive_many_operation&&) noexcept = default;
    ~receive_many_operation() {
        if (!this->take_grant()) return;
        for (T* each = first_; each != this->next(); ++each) this->of().drop(std::move(*each));
    }

private:
    [[nodiscard]] std::size_t count() const noexcept {
        return static_cast<std::size_t>(this->next() - first_);
    }

    T* const first_;
};

// An operation that does not wait.
template <class Operation>
class never_waits final : public Operation {
public:
    using Operation::Operation;

private:
    void tell() noexcept override {}
};

template <class Operation, class State, class... Args>
[[nodiscard]] auto try_now(State& state, Args&&... args) {
    never_waits<Operation> once{state, std::forward<Args>(args)...};
    static_cast<void>(once.try_enter());
    return once.collect(std::nullopt);
}

}  // namespace fairlead::channels
