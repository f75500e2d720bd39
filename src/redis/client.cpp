#include <fairlead/redis/client.hpp>

#include "redis/connection.hpp"
#include "redis/subscriber.hpp"

#include <fairlead/coro/spawn.hpp>

#include <algorithm>
#include <utility>

namespace fairlead::redis {
namespace {

// The owner of a connection works for no request.
[[nodiscard]] spawn_options owner_options() { return {.name = "redis owner", .detached = true}; }

task<result<subscription>> listen(executor where, connector connect, client_options options,
                                  std::vector<std::string> channels,
                                  std::vector<std::string> patterns, time_point deadline) {
    auto made = std::make_shared<detail::subscriber>(std::move(connect), std::move(options),
                                                     std::move(channels), std::move(patterns));
    subscription whole{made, spawn(where, detail::connection::run(made), owner_options())};
    result<void> opened = co_await made->messages().until_opened(deadline);
    if (!opened) co_return std::unexpected{std::move(opened.error())};
    co_return std::move(whole);
}

}  // namespace

client::client(executor where, connector connect, client_options options)
    : where_{where},
      connection_{std::make_shared<detail::connection>(connect, std::move(options))},
      connect_{std::move(connect)},
      owner_{spawn(where_, detail::connection::run(connection_), owner_options())} {}

client::~client() { owner_.request_stop(); }

task<result<value>> client::send(command what, time_point deadline) {
    if (!what.is_shareable()) co_return std::unexpected{error{errc::not_shared}};
    value reply;
    detail::request asked{*connection_, {&what, 1}, {&reply, 1}};
    result<void> done = co_await asked.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    if (reply.is_error()) co_return std::unexpected{error::of_server(std::move(reply).take_text())};
    co_return std::move(reply);
}

task<result<std::vector<value>>> client::send_all(std::vector<command> all, time_point deadline) {
    const bool is_shareable = std::ranges::all_of(all, &command::is_shareable);
    if (!is_shareable) co_return std::unexpected{error{errc::not_shared}};
    std::vector<value> replies(all.size());
    if (all.empty()) co_return replies;
    detail::request asked{*connection_, all, replies};
    result<void> done = co_await asked.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    co_return std::move(replies);
}

task<result<subscription>> client::subscribe_all(std::vector<std::string> channels,
                                                 time_point deadline) {
    return listen(where_, connect_, connection_->options(), std::move(channels), {}, deadline);
}

task<result<subscription>> client::subscribe(std::string channel, time_point deadline) {
    return subscribe_all(std::vector<std::string>{std::move(channel)}, deadline);
}

task<result<subscription>> client::subscribe_to_patterns(std::vector<std::string> patterns,
                                                         time_point deadline) {
    return listen(where_, connect_, connection_->options(), {}, std::move(patterns), deadline);
}

task<bool> client::close(time_point deadline) {
    const bool is_whole = co_await connection_->drain(deadline);
    owner_.request_stop();
    static_cast<void>(co_await connection_->ended().wait());
    co_return is_whole;
}

client_stats client::stats() const {
    const detail::connection::counts now = connection_->count();
    return {now.queued,   now.in_flight,      now.connects,    now.sent,
            now.given_up, now.pushes_dropped, now.last_failure};
}

}  // namespace fairlead::redis
