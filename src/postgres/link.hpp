// A connection of libpq, and the waits for its socket. Of one task.
//
// The library closes its socket in any of its calls, and may open another one with the same number.
// A watch has a duplicate, so it never touches the number of another thread: while the library
// connects, there is a watch for each wait; afterwards one for the whole life.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/watch.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/pool_options.hpp>

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace fairlead::postgres::detail {

class link {
public:
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    ~link() { close(); }

    /// Connects, until a deadline. Names, files and certificates are read on threads that may
    /// block; a stop and the deadline wait for these.
    /// `by`: see `pool_options::resolve`.
    [[nodiscard]] task<result<void>> open(const std::string& conninfo, const name_resolver& by,
                                          time_point deadline);
    /// Ends it, without waiting.
    void close() noexcept;

    [[nodiscard]] PGconn& get() const noexcept { return *connection_; }

    /// What can be done with the socket; as `watch::until`.
    [[nodiscard]] auto until(short events, time_point deadline = never) noexcept {
        return watch_.until(events, deadline);
    }
    /// Reads what has come, and gives what is to be written to the system. False: it is lost.
    [[nodiscard]] bool consume() noexcept { return PQconsumeInput(connection_) != 0; }
    /// As the library: 0: all is written; 1: the socket is full; -1: it is lost.
    [[nodiscard]] int flush() noexcept { return PQflush(connection_); }
    /// What the library has said last.
    [[nodiscard]] error failure() const;

private:
    [[nodiscard]] result<void> watch_socket(io::epoll_driver& driver);
    [[nodiscard]] task<result<void>> poll_until_open(io::epoll_driver& driver, time_point deadline);

    PGconn* connection_ = nullptr;
    io::watch watch_;
};

}  // namespace fairlead::postgres::detail
