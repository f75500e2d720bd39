// What a server lets a program decide: the monitor of a connection, answers that no handler makes,
// and what happens when memory is short.
#include "http/one_connection.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace fairlead::http::monitor_tests {
namespace {

using namespace std::chrono_literals;

// Notes what it is told, as a letter for each call.
class scribe final : public connection_monitor {
public:
    verdict waits_for_request() noexcept override { return note('r', of_request); }
    verdict waits_for_head(time_point since) noexcept override {
        began = since;
        return note('h', of_head);
    }
    verdict waits_for_body() noexcept override { return note('b', of_body); }
    verdict resumes() noexcept override { return note('.', after_wait); }
    bool is_last() noexcept override { return last; }
    void holds(std::size_t bytes) noexcept override {
        held = bytes;
        most = std::max(most, bytes);
    }
    bool may_hold(std::size_t bytes) noexcept override {
        asked = std::max(asked, bytes);
        return may_grow;
    }
    void is_out_of_memory() noexcept override { ++out_of_memory; }

    verdict of_request = verdict::go_on;
    verdict of_head = verdict::go_on;
    verdict of_body = verdict::go_on;
    verdict after_wait = verdict::go_on;
    bool last = false;
    bool may_grow = true;
    std::string heard;
    time_point began{};
    std::size_t held = 0;
    std::size_t most = 0;
    std::size_t asked = 0;
    int out_of_memory = 0;

private:
    verdict note(char call, verdict then) {
        heard += call;
        return then;
    }
};

using verdict = connection_monitor::verdict;

class Monitor : public one_connection {
protected:
    void watch(handler with) {
        answers.emplace(std::move(with));
        auto [theirs, ours] = make_pipe();
        client.emplace(std::move(ours));
        server.emplace(
            spawn(simulated, serve_connection(std::move(theirs), *answers, options, monitor)));
        run(0s);
    }
    // The members above outlive the server.
    void TearDown() override {
        one_connection::TearDown();
        server.reset();
    }

    scribe monitor;
    std::optional<handler> answers;
};

response nothing(request&) { return {}; }
task<response> echo(request& asked) {
    auto body = co_await asked.read_all();
    if (!body) co_return response::text(400, body.error().message());
    co_return response::text(200, std::move(*body), "a");
}

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view ok_last =
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr std::string_view stopping =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 23\r\nConnection: close\r\n\r\nthe server is stopping\n";

std::string put(std::size_t size) {
    return "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
}
std::string echoed(std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string{body};
}

TEST_F(Monitor, HearsOfEachWaitAndOfItsEnd) {
    watch(echo);
    EXPECT_EQ(monitor.heard, "r");
    EXPECT_EQ(say(get), echoed(""));
    EXPECT_EQ(monitor.heard, "r.r");
    EXPECT_EQ(say(std::string{get} + std::string{get}), echoed("") + echoed(""));
    EXPECT_EQ(monitor.heard, "r.r.r");
    EXPECT_EQ(say(get.substr(0, 3)), "");
    EXPECT_EQ(say(get.substr(3, 3)), "");
    EXPECT_EQ(monitor.heard, "r.r.r.hh");
    EXPECT_EQ(say(get.substr(6)), echoed(""));
    EXPECT_EQ(monitor.heard, "r.r.r.hh.r");
    EXPECT_EQ(say(put(4) + "1"), "");
    EXPECT_EQ(say("2"), "");
    EXPECT_EQ(say("34"), echoed("1234"));
    EXPECT_EQ(monitor.heard, "r.r.r.hh.r.b.b.r");
    client->close();
    run(0s);
    EXPECT_EQ(monitor.heard, "r.r.r.hh.r.b.b.r.");
}

TEST_F(Monitor, KnowsWhenASlowHeadBegan) {
    watch([](request& asked) -> task<response> {
        co_return response::text(200, asked.began() ? "slow" : "fast", "a");
    });
    EXPECT_EQ(say(get), echoed("fast"));
    const time_point begin = clock::now();
    EXPECT_EQ(say(get.substr(0, 3), 1s), "");
    EXPECT_EQ(say(get.substr(3, 3), 1s), "");
    EXPECT_EQ(monitor.began, begin);
    EXPECT_EQ(say(get.substr(6)), echoed("slow"));
}

TEST_F(Monitor, EndsAConnectionThatWaits) {
    monitor.of_request = verdict::close;
    watch(nothing);
    EXPECT_TRUE(closed());
    EXPECT_EQ(monitor.heard, "r");
}

TEST_F(Monitor, EndsASlowHeadWithoutAWordOrWithOne) {
    for (const bool after_the_wait : {false, true}) {
        for (const verdict how : {verdict::close, verdict::refuse}) {
            watch(nothing);
            (after_the_wait ? monitor.after_wait : monitor.of_head) = verdict::go_on;
            EXPECT_EQ(say(get.substr(0, 5)), "");
            (after_the_wait ? monitor.after_wait : monitor.of_head) = how;
            const std::string answer = say(get.substr(5, after_the_wait ? get.npos : 2));
            EXPECT_EQ(answer, how == verdict::close ? "" : stopping);
            EXPECT_TRUE(closed());
            run(0s);
            EXPECT_TRUE(server->ended());  // it does not linger
            monitor.of_head = monitor.after_wait = verdict::go_on;
        }
    }
}

// As when another connection takes its place.
TEST_F(Monitor, EndsASlowHeadWhoseTaskIsAskedToStop) {
    watch(nothing);
    EXPECT_EQ(say(get.substr(0, 5)), "");
    monitor.after_wait = verdict::refuse;
    server->request_stop();
    EXPECT_EQ(say(""), stopping);
    EXPECT_TRUE(closed());
}

TEST_F(Monitor, EndsABodyByAnErrorOfItsRead) {
    for (const bool after_the_wait : {false, true}) {
        std::error_code seen;
        watch([&seen](request& asked) -> task<response> {
            const auto body = co_await asked.read_all();
            if (!body) seen = body.error();
            response answer;
            answer.status = body ? 200 : 503;
            co_return answer;
        });
        EXPECT_EQ(say(put(4) + "1"), "");
        (after_the_wait ? monitor.after_wait : monitor.of_body) = verdict::refuse;
        EXPECT_TRUE(say("2").starts_with("HTTP/1.1 503 "));
        EXPECT_EQ(seen, std::errc::operation_canceled);
        EXPECT_TRUE(closed());
        run(0s);
        EXPECT_TRUE(server->ended());
        monitor.of_body = monitor.after_wait = verdict::go_on;
    }
}

TEST_F(Monitor, SaysWhichAnswerIsTheLast) {
    watch(nothing);
    EXPECT_EQ(say(get), ok);
    monitor.last = true;
    EXPECT_EQ(say(get), ok_last);
    EXPECT_TRUE(closed());
}

TEST_F(Monitor, PaysForASmallBufferOfASlowBodyAndALargeOneOfAFastBody) {
    watch(echo);
    const std::size_t idle = monitor.held;
    EXPECT_LE(idle, 4096U);
    const std::string body(60000, 'x');
    EXPECT_EQ(say(put(body.size()) + body.substr(0, 100)), "");
    for (std::size_t at = 100; at != 2000; at += 100) EXPECT_EQ(say(body.substr(at, 100)), "");
    EXPECT_LE(monitor.most, 4096U);
    // The next request comes together with the end of the body.
    EXPECT_EQ(say(body.substr(2000) + std::string{get}), echoed(body) + echoed(""));
    EXPECT_GT(monitor.most, 50000U);
    EXPECT_LT(monitor.most, 80000U);
    EXPECT_EQ(monitor.held, idle);
}

TEST_F(Monitor, KeepsTheBufferOfAFastBodySmall) {
    monitor.may_grow = false;
    watch(echo);
    const std::string body(60000, 'x');
    EXPECT_EQ(say(put(body.size()) + body + std::string{get}), echoed(body) + echoed(""));
    EXPECT_LE(monitor.most, 4096U);
    EXPECT_GT(monitor.asked, 10000U);
}

// --- answers that no handler makes ---------------------------------------------------------------

class Refusals : public one_connection {
protected:
    Refusals() {
        options.refusal = [](int status, const std::error_code& why) {
            return response::json(status, '"' + why.message() + '"');
        };
        options.head_timeout = 5s;
    }
    static std::string json(std::string_view status, const std::string& body) {
        return "HTTP/1.1 " + std::string{status} +
               "\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(body.size() + 2) + "\r\nConnection: close\r\n\r\n\"" + body + '"';
    }
    static std::string text_of(errc why) { return make_error_code(why).message(); }
    static std::string text_of(std::errc why) { return std::make_error_code(why).message(); }
};

TEST_F(Refusals, AreInTheFormatOfTheProgram) {
    const struct {
        std::string_view sent;
        std::string answer;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
         json("400 Bad Request", text_of(errc::bad_host))},
        {"GET / HTTP/2.0\r\n", json("505 HTTP Version Not Supported", text_of(errc::bad_version))},
        {"GET", json("408 Request Timeout", text_of(std::errc::timed_out))},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
         json("400 Bad Request", text_of(errc::bad_chunk_size))}};
    for (const auto& each : cases) {
        start([](request&) -> response { return {}; });
        EXPECT_EQ(say(each.sent, 5s), each.answer) << each.sent;
    }
}

TEST_F(Refusals, OfTunnelsAndFailedHandlersToo) {
    start([](request& asked) -> task<response> {
        if (asked.path() == "/") throw std::runtime_error{"x"};
        co_return response{};
    });
    const std::string failed = say(get);
    EXPECT_TRUE(failed.starts_with("HTTP/1.1 500 ")) << failed;
    EXPECT_TRUE(failed.ends_with(text_of(std::errc::state_not_recoverable) + '"')) << failed;
    const std::string tunnel = say("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
    EXPECT_TRUE(tunnel.starts_with("HTTP/1.1 501 ")) << tunnel;
    EXPECT_TRUE(tunnel.ends_with(text_of(std::errc::function_not_supported) + '"')) << tunnel;
}

TEST_F(Refusals, HaveNoBodyForHead) {
    start([](request&) -> response { return {}; });
    const std::string answer = say("HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_TRUE(answer.ends_with("Connection: close\r\n\r\n")) << answer;
}

// A client that sends its whole body first gets the answer, up to a limit.
TEST_F(Refusals, LetTheClientSendForAWhile) {
    for (const bool within : {true, false}) {
        options.linger_max = 10000;
        start([](request&) -> task<response> {
            response answer;
            answer.close = true;
            co_return answer;
        });
        const std::string head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
        EXPECT_TRUE(say(head).starts_with("HTTP/1.1 200 "));
        EXPECT_TRUE(closed());
        EXPECT_FALSE(server->ended());
        EXPECT_EQ(say(std::string(within ? 9999 : 10000, 'x')), "");
        EXPECT_EQ(server->ended(), !within);
        run(options.linger_timeout);
        EXPECT_TRUE(server->ended());
    }
}

// --- memory --------------------------------------------------------------------------------------

TEST_F(Monitor, IsToldThatMemoryIsShortAndTheClientToo) {
    options.out_of_memory = "HTTP/1.1 503 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    watch([](request& asked) -> task<response> {
        if (asked.path() == "/") throw std::bad_alloc{};
        co_return response{};
    });
    EXPECT_EQ(say("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"), ok);
    EXPECT_EQ(say(get), options.out_of_memory);
    EXPECT_TRUE(closed());
    EXPECT_EQ(monitor.out_of_memory, 1);
}

TEST_F(Monitor, IsToldNothingInTheMiddleOfAnAnswer) {
    watch([](request&) -> response {
        response answer;
        answer.stream = [](body_writer& to) -> task<> {
            const auto sent = co_await to.write("abc");
            EXPECT_TRUE(sent);
            throw std::bad_alloc{};
        };
        return answer;
    });
    const std::string answer = say(get);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n3\r\nabc\r\n")) << answer;
    EXPECT_TRUE(closed());
    EXPECT_EQ(monitor.out_of_memory, 0);
}

TEST_F(Monitor, IsToldIfAStreamHasNotBegun) {
    watch([](request&) -> response {
        response answer;
        answer.stream = [](body_writer&) -> task<> { throw std::bad_alloc{}; };
        return answer;
    });
    EXPECT_EQ(say(get), options.out_of_memory);
    EXPECT_EQ(monitor.out_of_memory, 1);
    const std::string& whole = options.out_of_memory;  // its length is what it says
    const std::size_t body = whole.size() - whole.find("\r\n\r\n") - 4;
    EXPECT_TRUE(whole.contains("\r\nContent-Length: " + std::to_string(body) + "\r\n"));
}

TEST_F(Monitor, OneBodyIsSentInManyAnswers) {
    for (const std::size_t size : {10UZ, 100000UZ}) {
        auto text = std::make_shared<const std::string>(size, 'x');
        watch([&text](request&) -> response {
            response answer;
            answer.fields.add("Content-Type", "a");
            answer.shared_body = text;
            return answer;
        });
        EXPECT_EQ(say(std::string{get} + std::string{get}), echoed(*text) + echoed(*text));
        EXPECT_EQ(text.use_count(), 1);
        const std::string head = say("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(head, echoed(*text).substr(0, echoed(*text).size() - size));
        client->close();
        run(0s);
    }
}

TEST_F(Monitor, AStreamWithoutAddressesHasNoPeer) {
    std::error_code seen;
    watch([&seen](request& asked) -> response {
        const auto peer = asked.peer_address();
        if (!peer) seen = peer.error();
        return {};
    });
    EXPECT_EQ(say(get), ok);
    EXPECT_EQ(seen, std::errc::operation_not_supported);
}

}  // namespace
}  // namespace fairlead::http::monitor_tests
