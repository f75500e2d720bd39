// A server with a listener: its connections, its limit, and its end.
#include "http/memory_stream.hpp"

#include <fairlead/http/server.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace fairlead::http::serve_tests {
namespace {

using namespace std::chrono_literals;

class Serve : public testing::Test {
protected:
    void start(handler answers) {
        server.emplace(
            spawn(simulated, serve(memory_listener{backlog}, std::move(answers), options)));
        run(0s);
    }

    memory_stream connect() {
        auto [theirs, ours] = make_pipe();
        backlog->waiting.push_back(std::move(theirs));
        backlog->arrived.set();
        run(0s);
        return std::move(ours);
    }

    std::string say(memory_stream& client, std::string_view text, time_span time = 0s) {
        client.out().bytes.append(text);
        client.out().readable.set();
        run(time);
        return std::exchange(client.in().bytes, {});
    }

    void run(time_span time) {
        simulated.run_for(time);
        simulated.scheduler().run_until_idle();
    }

    server_options options = [] {
        server_options made;
        made.server = "";
        made.date = false;
        return made;
    }();
    test::simulated_scheduler simulated;
    std::shared_ptr<memory_listener::backlog> backlog =
        std::make_shared<memory_listener::backlog>();
    std::optional<join_handle<std::expected<void, std::error_code>>> server;
};

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view last =
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

response nothing(request&) { return {}; }
task<response> nothing_after_10s(request&) {
    co_await sleep_for(10s);
    co_return response{};
}

TEST_F(Serve, EachConnectionHasATask) {
    start(nothing);
    memory_stream first = connect();
    memory_stream second = connect();
    EXPECT_EQ(say(second, get), ok);
    EXPECT_EQ(say(first, get), ok);
    server->request_stop();
    run(0s);
    EXPECT_TRUE(server->ended());
    EXPECT_TRUE(server->get().has_value());
    EXPECT_TRUE(first.in().ended);
    EXPECT_TRUE(second.in().ended);
}

// GCC 12 would destroy options of a default argument twice, with the texts that they own.
TEST_F(Serve, TheDefaultOptionsMayBeAwaitedInPlace) {
    auto [theirs, ours] = make_pipe();
    const auto serves = [](std::shared_ptr<memory_listener::backlog> from,
                           memory_stream one) -> task<std::error_code> {
        co_await serve_connection(std::move(one), nothing);
        const auto ended = co_await serve(memory_listener{std::move(from)}, nothing);
        co_return ended ? std::error_code{} : ended.error();
    };
    auto both = spawn(simulated, serves(backlog, std::move(theirs)));
    EXPECT_TRUE(say(ours, get).starts_with("HTTP/1.1 200 OK\r\nServer: fairlead\r\nDate: "));
    ours.close();
    run(0s);
    memory_stream next = connect();
    EXPECT_TRUE(say(next, get).starts_with("HTTP/1.1 200 OK\r\nServer: fairlead\r\nDate: "));
    both.request_stop();
    run(0s);
    ASSERT_TRUE(both.ended());
    EXPECT_EQ(both.get(), std::error_code{});
}

TEST_F(Serve, MoreConnectionsThanTheLimitWait) {
    options.connections_max = 2;
    start(nothing);
    memory_stream first = connect();
    memory_stream second = connect();
    memory_stream third = connect();
    EXPECT_EQ(backlog->accepted, 2);
    EXPECT_EQ(say(third, get), "");
    first.close();
    run(0s);
    EXPECT_EQ(say(third, ""), ok);
    server->request_stop();
    run(0s);
    EXPECT_TRUE(server->ended());
}

TEST_F(Serve, ADrainFinishesWhatIsUnderWay) {
    start(nothing_after_10s);
    memory_stream busy = connect();
    memory_stream idle = connect();
    memory_stream half = connect();
    EXPECT_EQ(say(busy, get), "");
    EXPECT_EQ(say(half, get.substr(0, 5), 9s), "");
    server->request_stop();
    run(0s);
    EXPECT_TRUE(idle.in().ended);
    EXPECT_EQ(idle.in().bytes, "");
    EXPECT_TRUE(half.in().ended);
    EXPECT_TRUE(half.in().bytes.starts_with("HTTP/1.1 503 ")) << half.in().bytes;
    EXPECT_FALSE(busy.in().ended);
    EXPECT_FALSE(server->ended());
    EXPECT_EQ(say(busy, get, 1s), last);
    EXPECT_TRUE(busy.in().ended);
    EXPECT_TRUE(server->ended());
    EXPECT_TRUE(server->get().has_value());
}

TEST_F(Serve, ADrainHasALimit) {
    options.drain_timeout = 3s;
    start(nothing_after_10s);
    memory_stream busy = connect();
    EXPECT_EQ(say(busy, get, 1s), "");
    server->request_stop();
    run(2s);
    EXPECT_FALSE(server->ended());
    const std::string answer = say(busy, "", 1s);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << answer;
    EXPECT_TRUE(server->ended());
}

// A client that takes a large answer slowly, piece by piece within the limit of each, holds up the
// end of the server for one limit at most.
TEST_F(Serve, ASlowReaderDoesNotHoldUpTheEnd) {
    options.drain_timeout = 3s;
    options.write_timeout = 30s;
    options.write_piece = 1000;
    start([](request&) { return response::text(200, std::string(1000000, 'x')); });
    memory_stream slow = connect();
    slow.in().room = 1000;
    const auto take_for = [&](int seconds) {
        std::size_t taken = 0;
        for (int i = 0; i != seconds && !server->ended(); ++i) {
            taken += std::exchange(slow.in().bytes, {}).size();
            slow.in().writable.set();
            run(1s);
        }
        return taken;
    };
    EXPECT_EQ(say(slow, get).substr(0, 15), "HTTP/1.1 200 OK");
    EXPECT_GT(take_for(100), 50000U);
    server->request_stop();
    EXPECT_GT(take_for(60), 20000U);
    EXPECT_TRUE(server->ended());
}

TEST_F(Serve, AFailureOfTheListenerIsGiven) {
    start(nothing_after_10s);
    memory_stream busy = connect();
    EXPECT_EQ(say(busy, get, 5s), "");
    backlog->failure = std::make_error_code(std::errc::bad_file_descriptor);
    backlog->arrived.set();
    run(0s);
    EXPECT_FALSE(server->ended());
    EXPECT_EQ(say(busy, "", 5s), last);
    ASSERT_TRUE(server->ended());
    EXPECT_EQ(server->get().error(), std::errc::bad_file_descriptor);
}

TEST_F(Serve, AConnectionThatComesDuringTheDrainIsNotAccepted) {
    start(nothing_after_10s);
    memory_stream busy = connect();
    EXPECT_EQ(say(busy, get), "");
    server->request_stop();
    run(0s);
    memory_stream late = connect();
    EXPECT_EQ(backlog->accepted, 1);
    run(10s);
    EXPECT_TRUE(server->ended());
}

TEST_F(Serve, OneBrokenConnectionDoesNotHarmTheOthers) {
    start([](request& asked) -> response {
        if (asked.method() == "POST") throw std::runtime_error{"x"};
        if (asked.method() == "PUT") throw std::bad_alloc{};
        return {};
    });
    memory_stream bad = connect();
    memory_stream worse = connect();
    memory_stream good = connect();
    EXPECT_TRUE(say(bad, "POST / HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 500 "));
    EXPECT_TRUE(say(bad, "\x16\x03\x01\r\n").starts_with("HTTP/1.1 400 "));
    EXPECT_EQ(say(worse, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n"), options.out_of_memory);
    EXPECT_TRUE(worse.in().ended);
    EXPECT_EQ(say(good, get), ok);
    server->request_stop();
    run(5s);
    EXPECT_TRUE(server->ended());
}

}  // namespace
}  // namespace fairlead::http::serve_tests
