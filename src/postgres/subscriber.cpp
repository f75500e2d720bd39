#include "postgres/subscriber.hpp"

#include "postgres/answer.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include <poll.h>

#include <optional>
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
    : pool_{pool},
      channels_{std::move(channels)},
      messages_{pool->options().messages_max},
      offline_since_{clock::now()} {}

task<result<subscription>> subscriber::listen(std::shared_ptr<pool_state> pool,
                                              std::vector<std::string> channels,
                                              time_point deadline) {
    auto made = std::make_shared<subscriber>(pool, std::move(channels));
    subscription whole{made};
    static_cast<void>(
        spawn(pool->where(), run(made),
              {.name = "postgres subscriber", .stop = made->stop_.get_token(), .detached = true}));
    result<void> opened = co_await made->messages_.until_opened(deadline);
    if (!opened) co_return std::unexpected{std::move(opened.error())};
    co_return std::move(whole);
}

// --- the owner -----------------------------------------------------------------------------------

task<> subscriber::run(std::shared_ptr<subscriber> self) {
    const struct last {
        subscriber& of;
        ~last() { of.messages_.end(); }
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
                self->messages_.opened();
                done = co_await self->serve(over);
            }
            why = done.error().as_unsent();
        } catch (const stopped_error&) {
            co_return;
        } catch (...) {
            why = error{std::make_error_code(std::errc::not_enough_memory)};
        }
        over.close();
        if (is_open) {
            self->messages_.lost();
            self->offline_since_ = clock::now();
        }
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
    static_cast<void>(PQisBusy(&of));  // takes what was read apart
    while (PGnotify* const next = PQnotifies(&of)) {
        const std::unique_ptr<PGnotify, decltype(&PQfreemem)> came{next, &PQfreemem};
        messages_.keep({came->relname, came->extra, came->be_pid});
    }
}

void subscriber::note_failed_attempt(const error& why) {
    const bool waits =
        may_pass(why) && clock::now() - offline_since_ < pool_->options().offline_max;
    if (!waits) messages_.fail(why);
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
    return of_->messages().receive(deadline);
}

}  // namespace fairlead::postgres
