#include "redis/subscriber.hpp"

#include <fairlead/detail/io/errors.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace fairlead::redis {
namespace detail {

std::vector<connection::opening> subscriber::openings() {
    std::vector<opening> all;
    std::lock_guard lock{mutex_};
    const auto add = [&](const char* verb, const std::vector<std::string>& names) {
        if (names.empty()) return;
        command what{verb};
        for (const std::string& each : names) what.add(each);
        all.push_back({std::move(what), names.size()});
    };
    add("SUBSCRIBE", channels_);
    add("PSUBSCRIBE", patterns_);
    return all;
}

void subscriber::on_opened(const value* refused) {
    {
        std::lock_guard lock{mutex_};
        if (refused != nullptr) {
            failure_ = error::of_server(std::string{refused->text()});
        } else {
            was_opened_ = true;
        }
    }
    news_.set();
}

void subscriber::on_push(value came) {
    std::vector<value> parts = std::move(came).take_items();
    const bool has_pattern = !parts.empty() && parts.front().text() == "pmessage";
    const bool is_message = has_pattern || (!parts.empty() && (parts.front().text() == "message" ||
                                                               parts.front().text() == "smessage"));
    if (!is_message || parts.size() != (has_pattern ? 4U : 3U)) return dropped();
    message made;
    std::size_t at = 1;
    if (has_pattern) made.pattern = std::move(parts[at++]).take_text();
    made.channel = std::move(parts[at++]).take_text();
    made.payload = std::move(parts[at]).take_text();
    {
        std::lock_guard lock{mutex_};
        if (messages_.size() >= options().messages_max) {
            add_gap();
        } else {
            messages_.emplace_back(std::move(made));
        }
    }
    news_.set();
}

void subscriber::add_gap() {
    if (messages_.empty() || messages_.back()) messages_.emplace_back(std::nullopt);
}

void subscriber::on_lost() {
    {
        std::lock_guard lock{mutex_};
        if (was_opened_) add_gap();
    }
    news_.set();
}

void subscriber::on_offline(const error& why) {
    {
        std::lock_guard lock{mutex_};
        is_over_ |= why.code() == errc::closed;
        failure_ = why;
    }
    news_.set();
}

std::optional<result<message>> subscriber::try_receive() {
    std::lock_guard lock{mutex_};
    if (!messages_.empty()) {
        std::optional<message> first = std::move(messages_.front());
        messages_.pop_front();
        if (!first) return std::unexpected{error{errc::messages_lost}};
        return std::move(*first);
    }
    if (is_over_) return std::unexpected{error{errc::closed}};
    if (failure_) return std::unexpected{*std::exchange(failure_, std::nullopt)};
    return std::nullopt;
}

task<result<message>> subscriber::receive(time_point deadline) {
    for (;;) {
        std::optional<result<message>> there = try_receive();
        if (there) co_return std::move(*there);
        const waited<void> more = co_await news_.wait(deadline);
        if (!more) co_return std::unexpected{error{io::detail::code_of(more.error())}};
    }
}

task<result<void>> subscriber::opened(time_point deadline) {
    for (;;) {
        {
            std::lock_guard lock{mutex_};
            if (failure_) co_return std::unexpected{*std::exchange(failure_, std::nullopt)};
            if (was_opened_) break;
        }
        const waited<void> more = co_await news_.wait(deadline);
        if (!more) co_return std::unexpected{error{io::detail::code_of(more.error())}};
    }
    news_.set();  // perhaps of a message
    co_return result<void>{};
}

task<result<void>> subscriber::change(bool add, std::string channel, time_point deadline) {
    {
        std::lock_guard lock{mutex_};
        std::erase(channels_, channel);
        if (add) channels_.push_back(channel);
    }
    const command what{add ? "SUBSCRIBE" : "UNSUBSCRIBE", channel};
    value confirmed;
    request asked{*this, {&what, 1}, {&confirmed, 1}};
    asked.confirmations = 1;
    result<void> done = co_await asked.finish(deadline);
    if (done && confirmed.is_error()) {
        if (add) {
            std::lock_guard lock{mutex_};
            std::erase(channels_, channel);
        }
        co_return std::unexpected{error::of_server(std::move(confirmed).take_text())};
    }
    co_return done;
}

}  // namespace detail

subscription::subscription(std::shared_ptr<detail::subscriber> of, join_handle<void> owner) noexcept
    : of_{std::move(of)}, owner_{std::move(owner)} {}
subscription::subscription(subscription&& other) noexcept = default;
subscription& subscription::operator=(subscription&& other) noexcept {
    if (this != &other) {
        end();
        of_ = std::move(other.of_);
        owner_ = std::move(other.owner_);
    }
    return *this;
}
subscription::~subscription() { end(); }

void subscription::end() noexcept {
    if (owner_.valid()) owner_.request_stop();
}

task<result<message>> subscription::receive(time_point deadline) { return of_->receive(deadline); }
task<result<void>> subscription::add(std::string channel, time_point deadline) {
    return of_->change(true, std::move(channel), deadline);
}
task<result<void>> subscription::remove(std::string channel, time_point deadline) {
    return of_->change(false, std::move(channel), deadline);
}

}  // namespace fairlead::redis
