#include "redis/subscriber.hpp"

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
    if (refused != nullptr) {
        messages_.fail(error::of_server(std::string{refused->text()}));
    } else {
        messages_.opened();
    }
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
    messages_.keep(std::move(made));
}

void subscriber::on_lost() { messages_.lost(); }

void subscriber::on_offline(const error& why) {
    if (why.code() == errc::closed) messages_.end();
    messages_.fail(why);
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

task<result<message>> subscription::receive(time_point deadline) {
    return of_->messages().receive(deadline);
}
task<result<void>> subscription::add(std::string channel, time_point deadline) {
    return of_->change(true, std::move(channel), deadline);
}
task<result<void>> subscription::remove(std::string channel, time_point deadline) {
    return of_->change(false, std::move(channel), deadline);
}

}  // namespace fairlead::redis
