// A scheduler with IO and threads, beside a real server.
#pragma once

#include "postgres/server.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/postgres/pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::postgres::test {

using namespace std::chrono_literals;

inline time_point in(duration span) { return after(clock::now(), span); }

class with_server : public testing::Test {
protected:
    template <class T>
    T run(task<T> body) {
        return block_on(home, std::move(body));
    }
    /// Executes statements that must succeed.
    void execute(pool& on, const std::vector<std::string>& all) {
        for (const std::string& each : all) {
            statement what{each};
            what.unprepared();
            const auto done = run(on.query(what));
            ASSERT_TRUE(done.has_value()) << each << ": " << done.error().message();
        }
    }
    /// A value that a statement gives.
    std::int64_t number(pool& on, const std::string& sql) {
        statement what{sql};
        what.unprepared();
        const auto done = run(on.query(what));
        EXPECT_TRUE(done.has_value()) << sql << ": " << done.error().message();
        if (!done) return -1;
        const auto one = done->one<std::int64_t>();
        EXPECT_TRUE(one.has_value()) << sql << ": " << one.error().message();
        return one.value_or(-1);
    }
    /// Lets other tasks run until something holds.
    template <class Condition>
    void until(Condition holds) {
        while (!holds()) run([]() -> task<> { co_await yield(); }());
    }

    const fairlead::test::watchdog guard;
    server& postgres = server::shared();
    scheduler home{fairlead::test::with_epoll(2)};
};

/// Whether a connection works, and gives the caller its own rows.
inline task<bool> is_whole(pool& of, std::int64_t number) {
    const auto rows = co_await of.query({"select $1::bigint", number}, in(20s));
    const bool is_right = rows && rows->one<std::int64_t>().value_or(-1) == number;
    co_return is_right;
}

}  // namespace fairlead::postgres::test
