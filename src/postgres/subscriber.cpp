#include "postgres/subscriber.hpp"

#include "postgres/answer.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/io/errors.hpp>

#include <poll.h>

#include <mutex>
#include <utility>

namespace fairlead::postgres {
namespace detail {
namespace {

[[nodiscard]] std::string quoted(PGconn& by, const std::string& name) {
    const std::unique_ptr<char, decltype(&PQfreemem)> made{
        PQescapeIdentifier(&by, name.data(), name.size()), &PQfreemem};
    return made == nullptr ? std::string{"\"\""} : std::string{made.get()};
}

}  // namespace

subscriber::subscriber(const std::shared_ptr<pool_state>& pool, std::vector<std::string> channels)
    : pool_{pool}, channels_{std::move(channels)}, offline_since_{clock::now()} {}

task<result<subscription>> subscriber::listen(std::shared_ptr<pool_state> pool,
                                              std::vector<std::string> channels,
                                              time_point deadline) {
    auto made = std::make_shared<subscriber>(pool, std::move(channels));
    subscription whole{made};
    static_cast<void>(
        spawn(pool->where(), run(made),
              {.name = "postgres subscriber", .stop = made->stop_.get_token(), .detached = true}));
    result<void> opened = co_await made->opened(deadline);
    if (!opened) co_return std::unexpected{std::move(opened.error())};
    co_return std::move(whole);
}

// --- the owner -----------------------------------------------------------------------------------

task<> subscriber::run(std::shared_ptr<subscriber> self) {
    const struct last {
        subscriber& of;
        ~last() { of.note_end(); }
    } at_the_end{*self};
    io::detail::reconnect_pauses pauses = self->pool_->make_pauses();
    for (;;) {
        link over;
        bool is_open = false;
        time_point opened_at{};
        std::optional<error> why;
        try {
            result<void> done = co_await self->connect(over);
            is_open = done.has_value();
            if (is_open) {
                pauses.opened();
                opened_at = clock::now();
                self->note_opened();
                done = co_await self->serve(over);
            }
            why = done.error().as_unsent();
        } catch (const stopped_error&) {
            co_return;
        } catch (...) {
            why = error{std::make_error_code(std::errc::not_enough_memory)};
        }
        over.close();
        if (is_open) self->note_lost();
        const bool is_stopped = co_await stop_requested();
        if (is_stopped) co_return;
        self->note_failed_attempt(*why);
        const duration pause =
            is_open ? pauses.after_loss(clock::now() - opened_at) : pauses.after_failure();
        const auto slept = co_await as_result(sleep_for(pause));
        if (!slept) co_return;
    }
}

task<result<void>> subscriber::connect(link& over) {
    const time_point deadline = after(clock::now(), pool_->options().connect_limit);
    result<void> done = co_await over.open(pool_->conninfo(), pool_->options().resolve, deadline);
    if (!done) co_return done;
    PGconn& connection = over.get();
    std::string sql;
    for (const std::string& each : channels_) sql += "listen " + quoted(connection, each) + ';';
    if (PQsendQuery(&connection, sql.c_str()) == 0) co_return std::unexpected{over.failure()};
    for (;;) {
        while (PQisBusy(&connection) == 0) {
            const answer got{PQgetResult(&connection)};
            if (got == nullptr) co_return result<void>{};
            if (PQresultStatus(got.get()) == PGRES_FATAL_ERROR) {
                co_return std::unexpected{error_of(*got)};
            }
        }
        done = co_await wait_and_consume(over, deadline);
        if (!done) co_return done;
    }
}

task<result<void>> subscriber::serve(link& over) {
    for (;;) {
        take_notifications(over.get());
        result<void> there = co_await wait_and_consume(over, never);
        if (there) continue;
        take_notifications(over.get());
        co_return there;
    }
}

task<result<void>> subscriber::wait_and_consume(link& over, time_point deadline) {
    const int left = over.flush();
    if (left < 0) co_return std::unexpected{over.failure()};
    const short events = left == 0 ? POLLIN : POLLIN | POLLOUT;
    const auto there = co_await over.until(events, deadline);
    if (!there) co_return std::unexpected{error{there.error()}};
    if (!over.consume()) co_return std::unexpected{over.failure()};
    co_return result<void>{};
}

void subscriber::take_notifications(PGconn& of) {
    bool has_come = false;
    static_cast<void>(PQisBusy(&of));  // takes what was read apart
    while (PGnotify* const next = PQnotifies(&of)) {
        const std::unique_ptr<PGnotify, decltype(&PQfreemem)> came{next, &PQfreemem};
        keep({came->relname, came->extra, came->be_pid});
        has_come = true;
    }
    if (has_come) news_.set();
}

void subscriber::keep(notification came) {
    std::lock_guard lock{mutex_};
    if (messages_.size() >= pool_->options().messages_max) {
        has_gap_ = true;
        return;
    }
    if (has_gap_) messages_.emplace_back(std::nullopt);
    has_gap_ = false;
    messages_.emplace_back(std::move(came));
}

void subscriber::note_opened() noexcept {
    {
        std::lock_guard lock{mutex_};
        was_opened_ = true;
        failure_.reset();
    }
    news_.set();
}

void subscriber::note_lost() noexcept {
    {
        std::lock_guard lock{mutex_};
        has_gap_ = true;
        offline_since_ = clock::now();
    }
    news_.set();
}

void subscriber::note_failed_attempt(const error& why) noexcept {
    {
        std::lock_guard lock{mutex_};
        const bool waits =
            may_pass(why) && clock::now() - offline_since_ < pool_->options().offline_max;
        if (waits) return;
        failure_ = why;
    }
    news_.set();
}

void subscriber::note_end() noexcept {
    {
        std::lock_guard lock{mutex_};
        is_over_ = true;
    }
    news_.set();
}

// --- the receiver --------------------------------------------------------------------------------

std::optional<result<notification>> subscriber::try_receive() {
    std::lock_guard lock{mutex_};
    if (!messages_.empty()) {
        std::optional<notification> first = std::move(messages_.front());
        messages_.pop_front();
        if (!first) return std::unexpected{error{errc::messages_lost}};
        return std::move(*first);
    }
    if (std::exchange(has_gap_, false)) return std::unexpected{error{errc::messages_lost}};
    if (is_over_) return std::unexpected{error{errc::closed}};
    if (failure_) return std::unexpected{*std::exchange(failure_, std::nullopt)};
    return std::nullopt;
}

task<result<notification>> subscriber::receive(time_point deadline) {
    for (;;) {
        std::optional<result<notification>> there = try_receive();
        if (there) co_return std::move(*there);
        const waited<void> more = co_await news_.wait(deadline);
        if (!more) co_return std::unexpected{error{io::detail::code_of(more.error())}};
    }
}

task<result<void>> subscriber::opened(time_point deadline) {
    for (;;) {
        {
            std::lock_guard lock{mutex_};
            if (was_opened_) break;
            if (failure_) co_return std::unexpected{*std::exchange(failure_, std::nullopt)};
            if (is_over_) co_return std::unexpected{error{errc::closed}};
        }
        const waited<void> more = co_await news_.wait(deadline);
        if (!more) co_return std::unexpected{error{io::detail::code_of(more.error())}};
    }
    news_.set();  // perhaps of a notification
    co_return result<void>{};
}

}  // namespace detail

subscription::subscription(std::shared_ptr<detail::subscriber> of) noexcept : of_{std::move(of)} {}
subscription::subscription(subscription&& other) noexcept = default;
subscription& subscription::operator=(subscription&& other) noexcept {
    if (this != &other) {
        if (of_ != nullptr) of_->end();
        of_ = std::move(other.of_);
    }
    return *this;
}
subscription::~subscription() {
    if (of_ != nullptr) of_->end();
}

task<result<notification>> subscription::receive(time_point deadline) {
    return of_->receive(deadline);
}

}  // namespace fairlead::postgres
