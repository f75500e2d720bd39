// Tests which connection makes room for a newcomer.
#include "savegames/connection_table.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace savegames::connection_table_tests {
namespace {

namespace fl = fairlead;
using namespace std::chrono_literals;

fl::scheduler_options on_caller() {
    fl::scheduler_options options;
    options.run_on_caller = true;
    return options;
}

network net(std::string_view text, const network_bits& bits = {}) {
    return network_of(fl::io::address::parse(text, 80).value(), bits);
}

const network crowd = net("192.0.2.1");
const network friends = net("192.0.2.2");

class connection_table_test : public testing::Test {
protected:
    // A connection that stays until it is asked to stop. Then its name is noted.
    struct client {
        std::optional<connection_table::seat> seat;
        std::optional<fl::join_handle<void>> task{};
    };

    fl::task<> stay(std::string name, connection_table::seat& seat) {
        fl::basic_task& self = co_await fl::current_task();
        seat.sit(self);
        fl::wake_reason reason = fl::wake_reason::woken;
        while (reason != fl::wake_reason::stopped) reason = co_await fl::receive_signal();
        ended.push_back(std::move(name));
    }

    // Null: there is no room.
    client* connect(const std::string& name, const network& from = crowd) {
        auto seat = table->enter(now, &retry, from);
        if (!seat) return nullptr;
        auto made = std::make_unique<client>();
        made->seat.emplace(std::move(*seat));
        made->task.emplace(fl::spawn(home, stay(name, *made->seat)));
        home.run_until_idle();
        return all.emplace_back(std::move(made)).get();
    }

    void leave(client* gone) {
        home.run_until_idle();
        gone->seat.reset();
        home.run_until_idle();
    }

    fl::task<> accept() {
        for (;; ++signals) {
            const auto room = co_await table->wait_for_room(fl::never);
            if (!room) co_return;
        }
    }

    void make(std::size_t limit, std::size_t of_network = 0) {
        table.emplace(limit, of_network);
        accepting.emplace(fl::spawn(home, accept()));
        home.run_until_idle();
    }

    void TearDown() override {
        for (auto& each : all) each->task->request_stop();
        accepting->request_stop();
        home.run_until_idle();
        all.clear();
    }

    fl::scheduler home{on_caller()};
    std::optional<connection_table> table;
    std::optional<fl::join_handle<void>> accepting;
    int signals = 0;
    time_point now{10s};
    time_point retry{};
    std::vector<std::unique_ptr<client>> all;
    std::vector<std::string> ended;
};

TEST_F(connection_table_test, the_slowest_head_makes_room) {
    make(3);
    client* const first = connect("first");
    client* const second = connect("second");
    ASSERT_TRUE(connect("busy"));
    ASSERT_TRUE(second->seat->become_reading_head(now));
    ASSERT_TRUE(first->seat->become_reading_head(now + 1ms));
    EXPECT_EQ(connect("newcomer"), nullptr);
    EXPECT_EQ(retry, now + connection_table::grace);
    now = retry;
    EXPECT_EQ(connect("newcomer"), nullptr);
    leave(second);
    EXPECT_EQ(ended, std::vector<std::string>{"second"});
    EXPECT_GT(signals, 0);
    EXPECT_NE(connect("newcomer"), nullptr);
    EXPECT_EQ(table->count().evicted, 1U);
}

TEST_F(connection_table_test, a_newcomer_counts_as_idle_until_it_reads) {
    make(2);
    client* const quiet = connect("quiet");
    client* const only = connect("only");
    EXPECT_EQ(table->count().open, 2U);
    EXPECT_EQ(table->count().idle, 2U);
    ASSERT_TRUE(only->seat->become_busy());
    EXPECT_EQ(table->count().idle, 1U);
    quiet->seat->become_idle(now);
    EXPECT_EQ(table->count().idle, 1U);
    leave(quiet);
    EXPECT_EQ(table->count().open, 1U);
    EXPECT_EQ(table->count().idle, 0U);
}

TEST_F(connection_table_test, a_head_that_is_there_is_not_slow) {
    make(1);
    client* const only = connect("only");
    ASSERT_TRUE(only->seat->become_reading_head(now));
    ASSERT_TRUE(only->seat->become_busy());
    now += 1h;
    EXPECT_EQ(connect("newcomer"), nullptr);
    EXPECT_EQ(retry, time_point::max());
    ASSERT_TRUE(only->seat->become_reading_head(now - 1h));
    EXPECT_EQ(connect("newcomer"), nullptr);
    EXPECT_FALSE(only->seat->become_busy());
    EXPECT_FALSE(only->seat->become_reading_head(now));
}

TEST_F(connection_table_test, a_body_makes_no_room_however_slow_it_is) {
    make(1, 1);
    client* const only = connect("only");
    ASSERT_TRUE(only->seat->become_reading_head(now));
    ASSERT_TRUE(only->seat->become_busy());
    ASSERT_TRUE(only->seat->become_reading_body());
    now += 1h;
    EXPECT_EQ(connect("newcomer"), nullptr);
    EXPECT_EQ(retry, time_point::max());
    EXPECT_FALSE(table->admits(crowd, now));
    EXPECT_TRUE(only->seat->become_busy());
}

TEST_F(connection_table_test, the_end_stops_whatever_waits_for_the_rest_of_a_request) {
    make(5);
    client* const busy = connect("busy");
    client* const body = connect("body");
    client* const head = connect("head");
    client* const fresh = connect("fresh");
    client* const old = connect("old");
    ASSERT_TRUE(body->seat->become_reading_body());
    ASSERT_TRUE(head->seat->become_reading_head(now));
    old->seat->become_idle(now - connection_table::grace);
    fresh->seat->become_idle(now);
    table->drain(now);
    home.run_until_idle();
    EXPECT_EQ(ended, (std::vector<std::string>{"head", "body", "old"}));
    EXPECT_TRUE(table->draining());
    EXPECT_FALSE(busy->seat->become_reading_head(now));
    EXPECT_FALSE(busy->seat->become_reading_body());
    for (client* const each : {head, body, old}) EXPECT_FALSE(each->seat->become_busy());
    for (client* const each : {busy, fresh}) EXPECT_TRUE(each->seat->become_busy());
    EXPECT_EQ(table->count().evicted, 0U);
}

TEST_F(connection_table_test, a_crowd_goes_before_another_network) {
    make(4);
    client* const good = connect("good", friends);
    client* const slow[] = {connect("a"), connect("b"), connect("c")};
    good->seat->become_idle(now);
    for (client* const each : slow) ASSERT_TRUE(each->seat->become_reading_head(now + 1s));
    now += 1min;
    for (client* const each : slow) {
        ASSERT_EQ(connect("newcomer", net("192.0.2.3")), nullptr);
        leave(each);
        ASSERT_NE(connect("newcomer", crowd), nullptr);
    }
    EXPECT_EQ(ended, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(connection_table_test, a_network_has_its_share) {
    make(10, 2);
    client* const first = connect("first");
    ASSERT_TRUE(table->admits(crowd, now));
    client* const second = connect("second");
    EXPECT_FALSE(table->admits(crowd, now));
    EXPECT_TRUE(table->admits(friends, now));
    ASSERT_TRUE(first->seat->become_reading_head(now));
    second->seat->become_idle(now);
    EXPECT_FALSE(table->admits(crowd, now));  // idle for less than `grace`
    EXPECT_EQ(table->count().refused, 2U);
    now += connection_table::grace;
    EXPECT_TRUE(table->admits(crowd, now));
    leave(second);
    EXPECT_EQ(ended, std::vector<std::string>{"second"});
    ASSERT_NE(connect("third"), nullptr);
    leave(first);
    EXPECT_TRUE(table->admits(crowd, now));
}

TEST(network, is_the_first_bits) {
    EXPECT_EQ(net("192.0.2.1"), net("192.0.2.1"));
    EXPECT_NE(net("192.0.2.1"), net("192.0.2.2"));
    EXPECT_EQ(net("192.0.2.1", {.v4 = 24}), net("192.0.2.255", {.v4 = 24}));
    EXPECT_NE(net("192.0.2.1", {.v4 = 24}), net("192.0.3.1", {.v4 = 24}));
    EXPECT_EQ(net("192.0.2.1", {.v4 = 0}), net("10.0.3.1", {.v4 = 0}));
    EXPECT_EQ(net("::ffff:192.0.2.1"), net("192.0.2.1"));
    EXPECT_EQ(net("2001:db8::1"), net("2001:db8::2"));
    EXPECT_NE(net("2001:db8::1", {.v6 = 128}), net("2001:db8::2", {.v6 = 128}));
    EXPECT_NE(net("2001:db8:0:1::"), net("2001:db8:0:2::"));
    EXPECT_EQ(net("2001:db8:0:2::", {.v6 = 63}), net("2001:db8:0:3::", {.v6 = 63}));
}

}  // namespace
}  // namespace savegames::connection_table_tests
