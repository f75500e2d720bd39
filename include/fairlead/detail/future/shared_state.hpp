// What the copies of a shared future share: the future that they were made of, and an event.
//
// Invariants
//   1. The result is read only once the event is set: it does not change any more.
//   2. Two sides own the state: all copies together, and the wait for the result. The second of
//      the two frees it. The last copy withdraws the wait as it goes: if that succeeds, nothing is
//      told any more, and the future is dropped. [SF1]
#pragma once

#include <fairlead/detail/future/consumer.hpp>
#include <fairlead/detail/future/listener.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/line.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <cstdint>
#include <expected>
#include <utility>

namespace fairlead::futures {

template <class T, class E>
class shared_state final : public sync::recycled, listener {
public:
    explicit shared_state(consumer<T, E>&& from) noexcept : from_{std::move(from)} {}

    void start() noexcept {
        if (!from_.of().attach(*this)) tell();
    }

    void add_copy() noexcept { copies_.fetch_add(1, sync::relaxed); }  // by an owner of a copy
    void drop_copy() noexcept {
        // acq_rel: the last one sees what was done with all copies.
        if (copies_.fetch_sub(1, sync::acq_rel) != 1) return;
        if (from_.of().withdraw()) leave();
        leave();
    }

    [[nodiscard]] bool is_ready() const noexcept { return is_there_.has_free(); }
    [[nodiscard]] const std::expected<T, E>& result() const noexcept { return from_.of().result(); }

    /// A line of one permit, which is free once the result is there.
    [[nodiscard]] sync::line& is_there() noexcept { return is_there_; }

private:
    void tell() noexcept override {
        is_there_.give_back_if_taken();
        leave();
    }

    void leave() noexcept {
        if (sides_.fetch_sub(1, sync::acq_rel) == 1) delete this;  // [SF1]
    }

    ~shared_state() = default;

    consumer<T, E> from_;
    sync::line is_there_{1, 1};
    sync::atomic<std::uint32_t> copies_{1};  // shared futures, and waits and continuations of them
    sync::atomic<std::uint32_t> sides_{2};   // acq_rel: the last side sees that the first has ended
};

/// A right to the result.
template <class T, class E>
class share {
public:
    share() = default;
    explicit share(shared_state<T, E>& of) noexcept : of_{&of} {}  // takes over the first copy
    share(const share& other) noexcept : of_{other.of_} {
        if (of_ != nullptr) of_->add_copy();
    }
    share(share&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    share& operator=(share other) noexcept {
        std::swap(of_, other.of_);
        return *this;
    }
    ~share() {
        if (of_ != nullptr) of_->drop_copy();
    }

    [[nodiscard]] bool valid() const noexcept { return of_ != nullptr; }
    [[nodiscard]] shared_state<T, E>& of() const noexcept {
        FAIRLEAD_ASSERT(valid(), "a shared future was used that has no result to come");
        return *of_;
    }

private:
    shared_state<T, E>* of_ = nullptr;
};

}  // namespace fairlead::futures
