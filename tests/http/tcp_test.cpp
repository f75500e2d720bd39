// The server and the client over TCP, on several workers.
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/wait/event.hpp>

#include <gtest/gtest.h>

namespace fairlead::http::tcp_tests {
namespace {

using namespace std::chrono_literals;

class Tcp : public testing::Test {
protected:
    void start(handler answers, server_options options = {}) {
        auto listener = io::tcp_listener::bind(scheduler, io::address::loopback(0));
        ASSERT_TRUE(listener);
        where = listener->local_address().value();
        base = "http://" + where.to_string();
        server.emplace(spawn(scheduler, serve(std::move(*listener), std::move(answers), options)));
    }

    scheduler_options of_workers() {
        scheduler_options options;
        options.workers = 3;
        options.driver = std::make_unique<io::epoll_driver>();
        return options;
    }

    const test::watchdog guard;
    fairlead::scheduler scheduler{of_workers()};
    io::address where;
    std::string base;
    std::optional<join_handle<std::expected<void, std::error_code>>> server;
};

task<response> echo(request& asked) {
    auto body = co_await asked.read_all();
    if (!body) co_return response::refusing(body.error());
    co_return response::text(200, std::move(*body));
}

// How many of `count` requests were answered as they must be.
task<int> ask(client& by, std::string url, int count, int seed) {
    int right = 0;
    for (int i = 0; i != count; ++i) {
        const auto size = static_cast<std::size_t>((seed * 7919 + i * 104729) % 40000);
        const std::string body(size, static_cast<char>('a' + i % 26));
        client_request asked{.method = "PUT", .url = url, .body = body};
        auto answer = co_await by.send(std::move(asked), clock::now() + 60s);
        if (!answer) continue;
        const auto got = co_await answer->read_all();
        if (got && *got == body) ++right;
    }
    co_return right;
}

TEST_F(Tcp, ARequestKnowsItsPeer) {
    start([](request& asked) -> response {
        const auto peer = asked.peer_address();
        return response::text(200, peer && peer->is_loopback() ? "near" : "far");
    });
    client by;
    const auto body = block_on(scheduler, [](client& asking, std::string url) -> task<std::string> {
        client_request asked;
        asked.url = std::move(url);
        auto answer = co_await asking.send(std::move(asked), clock::now() + 60s);
        if (!answer) co_return answer.error().message();
        auto whole = co_await answer->read_all();
        co_return whole.value_or("");
    }(by, base));
    EXPECT_EQ(body, "near");
}

TEST_F(Tcp, ManyTasksShareAFewConnections) {
    start(echo);
    client_options options;
    options.connections_max = 4;
    client by{options};
    std::vector<task<int>> all;
    for (int i = 0; i != 16; ++i) all.push_back(ask(by, base, 20, i));
    const std::vector<int> right = block_on(scheduler, when_all(std::move(all)));
    EXPECT_EQ(right, std::vector<int>(16, 20));
    EXPECT_LE(by.stats().connections, 4U);
    EXPECT_EQ(by.stats().retries, 0U);
    by.close_idle();
    server->request_stop();
    EXPECT_TRUE(server->get().has_value());
}

// Without chunks and without a length, the end of the connection is the end of the body.
TEST_F(Tcp, AStreamToHttp10ThatFailsEndsWithAReset) {
    for (const bool fails : {false, true}) {
        event received;
        start([fails, &received](request&) -> task<response> {
            response answer;
            answer.stream = [fails, &received](body_writer& to) -> task<> {
                EXPECT_TRUE(co_await to.write("a part"));
                EXPECT_TRUE(co_await received.wait());
                if (fails) throw std::runtime_error{"no more"};
            };
            co_return answer;
        });
        const auto reads = [](io::address from, event& told) -> task<std::error_code> {
            auto stream = (co_await io::tcp_stream::connect(from)).value();
            constexpr std::string_view ask = "GET / HTTP/1.0\r\n\r\n";
            EXPECT_TRUE(co_await stream.write_all(std::as_bytes(std::span{ask})));
            std::string all;
            for (std::array<char, 1000> some;;) {
                const auto size =
                    co_await stream.read_some(std::as_writable_bytes(std::span{some}));
                if (!size) co_return size.error();
                if (*size == 0) co_return std::error_code{};
                all.append(some.data(), *size);
                if (all.ends_with("a part")) told.set();
            }
        };
        const std::error_code end = block_on(scheduler, reads(where, received));
        EXPECT_EQ(end == std::errc::connection_reset, fails) << end.message();
        EXPECT_EQ(!end, !fails) << end.message();
        server->request_stop();
        EXPECT_TRUE(server->get().has_value());
    }
}

// Each request that the server has begun is answered, and none that it answers is lost.
TEST_F(Tcp, ADrainUnderLoadLosesNoRequest) {
    std::atomic<int> begun = 0;
    event enough;
    start([&begun, &enough](request& asked) -> task<response> {
        if (++begun == 50) enough.set();
        response answer = co_await echo(asked);
        co_return answer;
    });
    client by;
    std::atomic<int> answered = 0;
    std::atomic<int> refused = 0;
    const auto body = [](client& from, std::string url, std::atomic<int>& good,
                         std::atomic<int>& bad) -> task<> {
        for (;;) {
            client_request asked{.method = "POST", .url = url, .body = "x"};
            auto answer = co_await from.send(std::move(asked), clock::now() + 60s);
            if (!answer) {
                ++bad;
                co_return;
            }
            const auto got = co_await answer->read_all();
            if (got == "x") ++good;
        }
    };
    std::vector<join_handle<void>> clients;
    for (int i = 0; i != 8; ++i) {
        clients.push_back(spawn(scheduler, body(by, base, answered, refused)));
    }
    const auto stopper = [](event& when) -> task<> {
        const auto happened = co_await when.wait();
        EXPECT_TRUE(happened);
    };
    block_on(scheduler, stopper(enough));
    server->request_stop();
    EXPECT_TRUE(server->get().has_value());
    for (auto& each : clients) each.get();
    EXPECT_EQ(refused, 8);  // each client, once: the server is gone
    EXPECT_EQ(answered, begun);
    EXPECT_GE(begun, 50);
}

}  // namespace
}  // namespace fairlead::http::tcp_tests
