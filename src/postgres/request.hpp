// What a task waits for: the results of a batch, or a connection for itself. It lives in the frame
// of its task, and allocates nothing to wait.
#pragma once

#include "postgres/batch.hpp"
#include "postgres/flow.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::postgres::detail {

class pool_state;
struct seat;

/// Guarded by the mutex of the pool, but for what its task reads after `finish`.
class request {
public:
    enum class state : std::uint8_t {
        out,       ///< in no list
        queued,    ///< in the line of the pool
        assigned,  ///< in the line of a seat
        sent,      ///< in flight on a seat
        done       ///< it has its results, its seat, or its failure
    };

    /// A batch on any connection.
    request(pool_state& of, statements batch) noexcept : batch_{std::move(batch)}, of_{of} {}
    /// A batch on one connection, of which the caller has the lease.
    request(pool_state& of, statements batch, std::shared_ptr<seat> on) noexcept
        : batch_{std::move(batch)}, at_{std::move(on)}, is_bound_{true}, of_{of} {}
    /// A connection for itself.
    explicit request(pool_state& of) noexcept : is_for_seat_{true}, of_{of} {}
    /// A stream or a copy on one connection, of which the caller has the lease. It is not awaited:
    /// the flow hears of its end.
    request(pool_state& of, statements one, std::shared_ptr<seat> on,
            std::shared_ptr<flow> into) noexcept
        : batch_{std::move(one)},
          at_{std::move(on)},
          flow_{std::move(into)},
          is_bound_{true},
          of_{of} {}
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    ~request() {
        static_cast<void>(withdraw());
        // The task was destroyed with its scheduler before it heard of the grant.
        if (is_for_seat_ && at_ != nullptr) give_back();
    }

    /// Waits until it is done.
    [[nodiscard]] task<result<void>> finish(time_point deadline);

    /// Of a batch, afterwards.
    [[nodiscard]] row_sets& results() noexcept { return results_; }
    /// The connection, afterwards, which the caller must give back.
    [[nodiscard]] std::shared_ptr<seat> take_seat() noexcept { return std::move(at_); }

    // For the pool.
    [[nodiscard]] bool wants_seat() const noexcept { return is_for_seat_; }
    void settle(std::optional<error> failure) noexcept {
        failure_ = std::move(failure);
        state_ = state::done;
        if (flow_ != nullptr) {
            flow_->end(failure_, results_.empty() ? rows{} : std::move(results_.front()));
        }
        done_.set();
    }

    statements batch_;  // moved into the slot when it is sent
    row_sets results_;
    std::shared_ptr<seat> at_;          // where it is bound, assigned or in flight
    const std::shared_ptr<flow> flow_;  // null: the results come as a whole
    const bool is_bound_ = false;
    const bool is_for_seat_ = false;
    state state_ = state::out;
    std::uint64_t slot_ = 0;  // its number, while it is sent
    time_point deadline_ = never;
    request* previous_ = nullptr;
    request* following_ = nullptr;

private:
    // Ends its place. Whether it was sent; nothing: it is done.
    std::optional<bool> withdraw() noexcept;
    void give_back() noexcept;

    pool_state& of_;
    std::optional<error> failure_;
    event done_;
};

/// Requests in their order. They are in one list at most.
class request_list {
public:
    [[nodiscard]] request* first() const noexcept { return first_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    void push_back(request& one) noexcept {
        one.previous_ = last_;
        (last_ == nullptr ? first_ : last_->following_) = &one;
        last_ = &one;
        ++size_;
    }
    void push_front(request& one) noexcept {
        one.following_ = first_;
        (first_ == nullptr ? last_ : first_->previous_) = &one;
        first_ = &one;
        ++size_;
    }
    void erase(request& one) noexcept {
        (one.previous_ == nullptr ? first_ : one.previous_->following_) = one.following_;
        (one.following_ == nullptr ? last_ : one.following_->previous_) = one.previous_;
        one.previous_ = one.following_ = nullptr;
        --size_;
    }
    /// Takes the last one out; null: there is none.
    [[nodiscard]] request* pop_back() noexcept {
        request* const last = last_;
        if (last != nullptr) erase(*last);
        return last;
    }

private:
    request* first_ = nullptr;
    request* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace fairlead::postgres::detail
