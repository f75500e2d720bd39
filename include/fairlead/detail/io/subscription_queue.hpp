// What a subscription to a server has received, until its user takes it.
//
//     the connection --keep, add_gap, lost, fail, end--> messages, gap, failure --> receive
//
// A subscription outlives its connections: its owner connects again by itself. So the receiver gets
// messages in order; `messages_lost` at each place where some may be missing; the error of an
// attempt to connect, once, when there is no message before it; and `closed` at the end.
//
// Any thread; one receiver.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <deque>
#include <expected>
#include <mutex>
#include <optional>
#include <utility>

namespace fairlead::io::detail {

/// `Errc` is an enumeration with `messages_lost` and `closed`, from which an `Error` can be made.
template <class Message, class Error, class Errc>
class subscription_queue {
public:
    /// Keeps so many messages at most.
    explicit subscription_queue(std::size_t most) noexcept : most_{most} {}

    // --- the connection --------------------------------------------------------------------------

    /// The server has confirmed the subscription, for the first time or once more.
    void opened() noexcept {
        tell([this] {
            was_opened_ = true;
            failure_.reset();
        });
    }

    /// The connection has ended. What comes before the next one is missed.
    void lost() noexcept {
        tell([this] { has_gap_ |= was_opened_; });
    }

    /// There is no connection now, because of `why`; or the server has refused the subscription.
    void fail(Error why) noexcept {
        tell([&] { failure_ = std::move(why); });
    }

    /// Nothing comes any more.
    void end() noexcept {
        tell([this] { is_over_ = true; });
    }

    /// A message has come. Throws std::bad_alloc.
    void keep(Message came) {
        tell([&] {
            if (messages_.size() >= most_) {
                has_gap_ = true;
                return;
            }
            if (has_gap_) messages_.emplace_back(std::nullopt);
            has_gap_ = false;
            messages_.emplace_back(std::move(came));
        });
    }

    // --- the user --------------------------------------------------------------------------------

    [[nodiscard]] task<std::expected<Message, Error>> receive(time_point deadline) {
        for (;;) {
            std::optional<std::expected<Message, Error>> there = try_receive();
            if (there) co_return std::move(*there);
            const waited<void> more = co_await news_.wait(deadline);
            if (!more) co_return std::unexpected{Error{code_of(more.error())}};
        }
    }

    /// Waits for the first confirmation.
    [[nodiscard]] task<std::expected<void, Error>> until_opened(time_point deadline) {
        for (;;) {
            const std::optional<std::expected<void, Error>> known = try_opened();
            if (known) {
                news_.set();  // perhaps of a message
                co_return std::move(*known);
            }
            const waited<void> more = co_await news_.wait(deadline);
            if (!more) co_return std::unexpected{Error{code_of(more.error())}};
        }
    }

private:
    template <class Change>
    void tell(Change change) {
        {
            const std::lock_guard lock{mutex_};
            change();
        }
        news_.set();
    }

    [[nodiscard]] std::optional<std::expected<Message, Error>> try_receive() {
        const std::lock_guard lock{mutex_};
        if (!messages_.empty()) {
            std::optional<Message> first = std::move(messages_.front());
            messages_.pop_front();
            if (!first) return std::unexpected{Error{Errc::messages_lost}};
            return std::move(*first);
        }
        if (std::exchange(has_gap_, false)) return std::unexpected{Error{Errc::messages_lost}};
        if (is_over_) return std::unexpected{Error{Errc::closed}};
        if (failure_) return std::unexpected{*std::exchange(failure_, std::nullopt)};
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::expected<void, Error>> try_opened() {
        const std::lock_guard lock{mutex_};
        if (was_opened_) return std::expected<void, Error>{};
        if (failure_) return std::unexpected{*std::exchange(failure_, std::nullopt)};
        if (is_over_) return std::unexpected{Error{Errc::closed}};
        return std::nullopt;
    }

    const std::size_t most_;
    sync::mutex mutex_;
    // Guarded by mutex_.
    std::deque<std::optional<Message>> messages_;  // nothing: a gap
    bool has_gap_ = false;                         // behind the last message
    bool was_opened_ = false;
    bool is_over_ = false;
    std::optional<Error> failure_;

    auto_event news_;  // for the user
};

}  // namespace fairlead::io::detail
