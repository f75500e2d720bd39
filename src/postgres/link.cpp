#include "postgres/link.hpp"

#include "postgres/answer.hpp"
#include "postgres/hosts.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>

#include <poll.h>

#include <array>
#include <optional>
#include <utility>

namespace fairlead::postgres::detail {

task<result<void>> link::open(const std::string& conninfo, const name_resolver& by,
                              time_point deadline) {
    const scheduler& home = co_await current_scheduler();
    io::epoll_driver& driver = io::epoll_driver::of(home);
    // The later ones are preferred. The first is taken apart as a whole.
    std::array<const char*, 7> names{"dbname", "client_encoding", "fallback_application_name"};
    std::array<const char*, 7> values{conninfo.c_str(), "UTF8", "fairlead"};
    std::optional<host_lists> hosts;
    if (by) {
        auto found = co_await resolve_hosts(conninfo, by, deadline);
        if (!found) co_return std::unexpected{std::move(found.error())};
        hosts = std::move(*found);
    }
    if (hosts) {
        names[3] = "host";
        values[3] = hosts->host.c_str();
        names[4] = "hostaddr";
        values[4] = hosts->hostaddr.c_str();
        names[5] = "port";
        values[5] = hosts->port.c_str();
    }
    const auto begin = [&] { return PQconnectStartParams(names.data(), values.data(), 1); };
    connection_ = co_await blocking(begin);
    if (connection_ == nullptr) {
        co_return std::unexpected{error{std::make_error_code(std::errc::not_enough_memory)}};
    }
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);
    PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);  // the text has the SQLSTATE
    result<void> opened = co_await poll_until_open(driver, deadline);
    if (opened) opened = watch_socket(driver);
    if (opened && PQsetnonblocking(connection_, 1) != 0) opened = std::unexpected{failure()};
    if (!opened) close();
    co_return opened;
}

task<result<void>> link::poll_until_open(io::epoll_driver& driver, time_point deadline) {
    if (PQstatus(connection_) == CONNECTION_BAD) {
        co_return std::unexpected{error_of_connect(PQerrorMessage(connection_))};
    }
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING;;) {
        result<void> watched = watch_socket(driver);
        if (!watched) co_return std::unexpected{std::move(watched.error())};
        const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        const auto there = co_await until(events, deadline);
        watch_.end();  // the library may close the socket, and open another one
        if (!there) co_return std::unexpected{error{there.error()}};
        const auto poll = [&] { return PQconnectPoll(connection_); };
        next = co_await blocking(poll);
        if (next == PGRES_POLLING_OK) break;
        if (next == PGRES_POLLING_FAILED) {
            co_return std::unexpected{error_of_connect(PQerrorMessage(connection_))};
        }
    }
    co_return result<void>{};
}

result<void> link::watch_socket(io::epoll_driver& driver) {
    auto made = io::watch::make(driver, PQsocket(connection_));
    if (!made) return std::unexpected{error{made.error()}};
    watch_ = std::move(*made);
    return {};
}

void link::close() noexcept {
    watch_.end();
    PQfinish(std::exchange(connection_, nullptr));
}

error link::failure() const {
    return {errc::connection_lost, trimmed(PQerrorMessage(connection_)), true};
}

}  // namespace fairlead::postgres::detail
