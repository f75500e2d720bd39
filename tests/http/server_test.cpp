#include "http/one_connection.hpp"

namespace fairlead::http::server_tests {
namespace {

using namespace std::chrono_literals;

class Server : public one_connection {};

response hello(request& asked) { return response::text(200, std::string{asked.path()}, "a"); }
task<response> hello_later(request& asked) {
    co_await yield();
    co_return hello(asked);
}

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 2\r\n\r\n/x";

std::string closing(std::string_view answer) {
    std::string text{answer};
    return text.insert(text.find("\r\n\r\n") + 2, "Connection: close\r\n");
}

TEST_F(Server, AnswersAndKeepsTheConnection) {
    start(hello);
    EXPECT_EQ(say(get), ok);
    EXPECT_EQ(say(get.substr(0, 9)), "");
    EXPECT_EQ(say(get.substr(9)), ok);
    EXPECT_FALSE(closed());
    EXPECT_EQ(writes().size(), 2U);  // head and body in one
}

TEST_F(Server, ACoroutineAnswersInOneWriteToo) {
    start(hello_later);
    EXPECT_EQ(say(get), ok);
    EXPECT_EQ(say(get), ok);
    EXPECT_EQ(writes().size(), 2U);
}

TEST_F(Server, AnswersABatchInOrderAndInOneWrite) {
    start(hello);
    const std::string other = "GET /yz HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: 3\r\n\r\n/yz";
    EXPECT_EQ(say(std::string{get} + other + std::string{get}),
              std::string{ok} + answer + std::string{ok});
    EXPECT_EQ(writes().size(), 1U);
}

TEST_F(Server, NoAnswerWaitsForACoroutine) {
    start([](request& asked) -> task<response> {
        if (asked.path() == "/slow") co_await sleep_for(10s);
        co_return hello(asked);
    });
    const std::string slow = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";
    EXPECT_EQ(say(std::string{get} + slow + std::string{get}, 1s), ok);
    const std::string rest = say("", 10s);
    EXPECT_TRUE(rest.ends_with("/slow" + std::string{ok})) << rest;
}

TEST_F(Server, ClosesWhenTheClientWantsIt) {
    start(hello);
    EXPECT_EQ(say("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), closing(ok));
    EXPECT_TRUE(closed());
}

TEST_F(Server, SpeaksHttp10) {
    start(hello);
    const std::string kept = say("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(kept.find("Connection: keep-alive\r\n"), kept.npos) << kept;
    EXPECT_EQ(say("GET /x HTTP/1.0\r\n\r\n"), closing(ok));
    EXPECT_TRUE(closed());
}

TEST_F(Server, SendsNoBodyToHead) {
    start(hello);
    EXPECT_EQ(say("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n"), ok.substr(0, ok.size() - 2));
    EXPECT_EQ(say(get), ok);
}

TEST_F(Server, SendsNoBodyWhereNoneMayBe) {
    start([](request& asked) {
        response answer;
        answer.status = asked.path() == "/204" ? 204 : 304;
        answer.body = "x";
        return answer;
    });
    EXPECT_EQ(say("GET /204 HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
    EXPECT_EQ(say("GET /304 HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 304 Not Modified\r\n\r\n");
}

TEST_F(Server, FramesTheMessageItself) {
    start([](request&) {
        response answer;
        answer.body = "abc";
        answer.fields.add("Content-Length", "1").add("transfer-encoding", "chunked");
        answer.fields.add("Connection", "upgrade").add("X", "y");
        return answer;
    });
    EXPECT_EQ(say(get), "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 3\r\n\r\nabc");
}

TEST_F(Server, SaysWhoAndWhen) {
    options.server = "harbour";
    options.date = true;
    options.wall_clock = [] { return std::chrono::sys_seconds{784111777s}; };
    start([](request&) { return response{}; });
    EXPECT_EQ(say(get),
              "HTTP/1.1 200 OK\r\nServer: harbour\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
              "Content-Length: 0\r\n\r\n");
}

TEST_F(Server, TheHandlerMaySayWhoAndWhen) {
    options.server = "harbour";
    options.date = true;
    start([](request&) {
        response answer;
        answer.fields.add("SERVER", "x").add("date", "y");
        return answer;
    });
    EXPECT_EQ(say(get), "HTTP/1.1 200 OK\r\nSERVER: x\r\ndate: y\r\nContent-Length: 0\r\n\r\n");
}

TEST_F(Server, TheDateIsLookedAtOnceForABatchAndAgainAfterIt) {
    auto now = std::chrono::sys_seconds{784111777s};
    options.date = true;
    options.wall_clock = [&now] { return now++; };
    start([](request&) { return response{}; });
    const auto dated = [](std::string_view second) {
        return "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:" + std::string{second} +
               " GMT\r\nContent-Length: 0\r\n\r\n";
    };
    EXPECT_EQ(say(std::string{get} + std::string{get}), dated("37") + dated("37"));
    EXPECT_EQ(say(get), dated("38"));
    client.reset();
    run(0s);
    start([](request&) -> task<response> { co_return response{}; });
    EXPECT_EQ(say(std::string{get} + std::string{get}), dated("39") + dated("40"));
}

TEST_F(Server, RefusesAMalformedRequestAndCloses) {
    start(hello);
    const std::string answer = say("GET /x HTTP/1.1\r\nHost : a\r\n\r\n" + std::string{get});
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("a space before the colon of a field\n")) << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), answer.npos);
    EXPECT_TRUE(closed());
}

TEST_F(Server, AnswersWhatCameBeforeAMalformedRequest) {
    start(hello);
    const std::string answer = say(std::string{get}.append("GET\r\n\r\n"));
    EXPECT_TRUE(answer.starts_with(ok)) << answer;
    EXPECT_NE(answer.find("HTTP/1.1 400 "), answer.npos) << answer;
    EXPECT_EQ(writes().size(), 1U);
}

TEST_F(Server, AnExceptionIsStatus500) {
    int told = 0;
    options.on_failure = [&told](const request_head& head, const std::exception_ptr& failure) {
        EXPECT_EQ(head.target, "/x");
        EXPECT_THROW(std::rethrow_exception(failure), std::runtime_error);
        ++told;
    };
    start([](request&) -> task<response> {
        co_await yield();
        throw std::runtime_error{"secret"};
    });
    const std::string answer = say(get);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 Internal Server Error\r\n")) << answer;
    EXPECT_EQ(answer.find("secret"), answer.npos);
    EXPECT_FALSE(closed());
    EXPECT_TRUE(say(get).starts_with("HTTP/1.1 500 "));
    EXPECT_EQ(told, 2);
}

TEST_F(Server, AFunctionMayThrowToo) {
    start([](request& asked) -> response {
        response answer;
        answer.fields.add("X", "a\r\n" + std::string{asked.path()});
        return answer;
    });
    EXPECT_TRUE(say(get).starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
}

TEST_F(Server, AStatusMustBeOne) {
    start([](request&) {
        response answer;
        answer.status = 101;
        return answer;
    });
    EXPECT_TRUE(say(get).starts_with("HTTP/1.1 500 "));
}

TEST_F(Server, AHeadAndALargeBodyLeaveInOneWrite) {
    const auto body = std::make_shared<const std::string>(50000, 'x');
    start([body](request& asked) {
        if (asked.path() == "/x") return response::text(200, *body);
        response shared;
        shared.shared_body = body;
        return shared;
    });
    for (const std::string_view ask :
         {get, std::string_view{"GET /y HTTP/1.1\r\nHost: a\r\n\r\n"}}) {
        const std::size_t before = writes().size();
        const std::string answer = say(ask);
        EXPECT_EQ(at_once<response_parser>(answer).messages.at(0).body, *body);
        EXPECT_EQ(writes().size(), before + 1);
    }
}

TEST_F(Server, SendsALargeBodyInPieces) {
    options.write_piece = 40000;
    start([](request&) { return response::text(200, std::string(100000, 'x')); });
    const std::string answer = say(get);
    EXPECT_EQ(at_once<response_parser>(answer).messages.at(0).body, std::string(100000, 'x'));
    EXPECT_EQ(writes(), (std::vector<std::size_t>{40000, 40000, answer.size() - 80000}));
    EXPECT_TRUE(say(std::string{get} + std::string{get}).size() > 200000);
}

TEST_F(Server, AnIdleConnectionIsClosedInSilence) {
    options.idle_timeout = 60s;
    start(hello);
    EXPECT_EQ(say(get, 59s), ok);
    EXPECT_FALSE(closed());
    EXPECT_EQ(say("", 2s), "");
    EXPECT_TRUE(closed());
}

// Slowloris: a client that sends a byte from time to time holds a connection no longer than the
// limit of the head, measured from its first byte.
TEST_F(Server, ASlowHeadIsRefused) {
    options.head_timeout = 10s;
    start(hello);
    EXPECT_EQ(say("", 5s), "");
    std::string answer;
    const std::string slow = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100, 'x');
    int sent = 0;
    for (const char each : slow) {
        answer += say({&each, 1}, 1s);
        ++sent;
        if (!answer.empty()) break;
    }
    EXPECT_EQ(sent, 10);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n")) << answer;
    run(options.linger_timeout);
    EXPECT_TRUE(server->ended());
}

TEST_F(Server, ASlowReaderIsDropped) {
    options.write_timeout = 30s;
    start(hello);
    client->in().room = 10;
    EXPECT_EQ(say(get, 29s).size(), 10U);
    run(31s);
    EXPECT_TRUE(server->ended());
}

TEST_F(Server, AnEndInTheMiddleOfAHeadIsNoRequest) {
    start(hello);
    EXPECT_EQ(say("GET / HT"), "");
    EXPECT_TRUE(client->shutdown_send());
    run(0s);
    EXPECT_TRUE(server->ended());
}

TEST_F(Server, AnEndAfterTheRequestIsNone) {
    start(hello_later);
    client->out().bytes.append(get);
    EXPECT_TRUE(client->shutdown_send());
    EXPECT_EQ(say(""), ok);
    EXPECT_TRUE(server->ended());
}

TEST_F(Server, AStopEndsAnIdleConnection) {
    start(hello);
    server->request_stop();
    run(0s);
    EXPECT_TRUE(server->ended());
}

TEST_F(Server, AStopReachesTheHandlerAndItsAnswerTheClient) {
    start([](request& asked) -> task<response> {
        const auto why = co_await receive_signal(never);
        EXPECT_EQ(why, wake_reason::stopped);
        co_return hello(asked);
    });
    EXPECT_EQ(say(get, 1h), "");
    server->request_stop();
    EXPECT_EQ(say(""), closing(ok));
    EXPECT_TRUE(server->ended());
}

TEST_F(Server, AHandlerThatIsStoppedIsStatus503) {
    start([](request& asked) -> task<response> {
        co_await sleep_for(2h);
        co_return hello(asked);
    });
    EXPECT_EQ(say(get, 1h), "");
    server->request_stop();
    EXPECT_TRUE(say("").starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
    EXPECT_TRUE(server->ended());
}

// A proxy would take the answer 200 of a handler for a tunnel, and what follows for its bytes.
TEST_F(Server, HasNoTunnels) {
    for (const handler& answers : {handler{hello}, handler{hello_later}}) {
        start(answers);
        EXPECT_TRUE(
            say("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n").starts_with("HTTP/1.1 501 "));
        client.reset();
        run(0s);
    }
}

}  // namespace
}  // namespace fairlead::http::server_tests
