#include "http/memory_stream.hpp"
#include "http/messages.hpp"

#include <fairlead/http/client.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <gtest/gtest.h>

#include <tuple>

namespace fairlead::http::client_tests {
namespace {

using namespace std::chrono_literals;

using answered = std::expected<client_response, std::error_code>;

// A client in virtual time. Its connections go to servers that a test plays, or to `answers`.
class Client : public testing::Test {
protected:
    Client() {
        options.user_agent = "";
        connects = [this](const origin& to, time_point) -> task<made> {
            origins.push_back(to);
            if (refusal) co_return std::unexpected{refusal};
            auto [theirs, ours] = make_pipe();
            if (answers) {
                server_options plain;
                plain.server = "";
                plain.date = false;
                std::ignore =
                    spawn(simulated, serve_connection(std::move(theirs), *answers, plain));
            } else {
                servers.push_back(std::move(theirs));
            }
            co_return make_transport(std::move(ours));
        };
    }

    // Begins to send; the result is in `last`.
    void send(client_request asked, time_point deadline = never) {
        if (!sender) sender.emplace(connects, options);
        last.reset();
        const auto body = [](client& by, client_request what, time_point until,
                             std::optional<answered>& to) -> task<> {
            to.emplace(co_await by.send(std::move(what), until));
        };
        std::ignore = spawn(simulated, body(*sender, std::move(asked), deadline, last));
        run(0s);
    }
    void get(std::string path = "/", time_point deadline = never) {
        send({.url = "http://host" + path}, deadline);
    }

    // The server that was connected to as number `which` says this.
    void reply(std::size_t which, std::string_view text) {
        memory_stream& server = servers.at(which);
        server.out().bytes.append(text);
        server.out().readable.set();
        run(0s);
    }
    std::string heard(std::size_t which) { return std::exchange(servers.at(which).in().bytes, {}); }
    bool closed(std::size_t which) { return servers.at(which).in().ended; }

    std::string body_of(answered& of, std::size_t size_max = 1000000) {
        std::string text = "no response";
        const auto body = [](client_response& from, std::size_t size, std::string& to) -> task<> {
            auto whole = co_await from.read_all(size);
            to = whole ? *whole : whole.error().message();
        };
        std::ignore = spawn(simulated, body(*of, size_max, text));
        run(0s);
        return text;
    }

    void run(time_span time) {
        simulated.run_for(time);
        simulated.scheduler().run_until_idle();
    }

    void TearDown() override {
        last.reset();
        sender.reset();
        servers.clear();
        run(1h);
    }

    using made = std::expected<std::unique_ptr<transport>, std::error_code>;
    test::simulated_scheduler simulated;
    client_options options;
    std::optional<handler> answers;
    std::error_code refusal;
    std::vector<origin> origins;
    std::deque<memory_stream> servers;
    connector connects;
    std::optional<client> sender;
    std::optional<answered> last;
};

constexpr std::string_view empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

TEST_F(Client, SendsARequestAndGivesTheResponse) {
    options.user_agent = "me";
    send({.url = "http://Host:8080/a?b#c", .fields = field_list{}.add("X", "y")});
    EXPECT_EQ(heard(0), "GET /a?b HTTP/1.1\r\nHost: host:8080\r\nUser-Agent: me\r\nX: y\r\n\r\n");
    EXPECT_EQ(origins.at(0), (origin{"http", "host", 8080}));
    EXPECT_FALSE(last.has_value());
    reply(0, "HTTP/1.1 404 Not Found\r\nA: b\r\nContent-Le");
    reply(0, "ngth: 5\r\n\r\nhe");
    ASSERT_TRUE(last.has_value() && last->has_value());
    EXPECT_EQ((*last)->status(), 404);
    EXPECT_EQ((*last)->field("a"), "b");
    reply(0, "llo");
    EXPECT_EQ(body_of(*last), "hello");
}

TEST_F(Client, AHeadAndALargeBodyLeaveInOneWrite) {
    const std::string body(50000, 'x');
    send({.method = "POST", .url = "http://h", .body = body});
    EXPECT_EQ(heard(0), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n" + body);
    EXPECT_EQ(servers.at(0).in().writes.size(), 1U);
}

TEST_F(Client, FramesTheBody) {
    send({.method = "POST", .url = "http://h", .body = "abc"});
    EXPECT_EQ(heard(0), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(servers.at(0).in().writes.size(), 1U);
    send({.method = "POST", .url = "http://h"});
    EXPECT_EQ(heard(1), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    client_request own{.url = "http://h"};
    own.fields.add("Content-Length", "7").add("Transfer-Encoding", "chunked").add("Host", "other");
    own.fields.add("Connection", "upgrade").add("Expect", "x");
    send(std::move(own));
    EXPECT_EQ(heard(2), "GET / HTTP/1.1\r\nHost: other\r\n\r\n");
    send({.method = "PUT", .url = "http://h", .body = std::string(100000, 'x')});
    EXPECT_EQ(at_once<request_parser>(heard(3)).messages.at(0).body, std::string(100000, 'x'));
}

TEST_F(Client, StreamsTheBody) {
    client_request asked{.method = "POST", .url = "http://h"};
    asked.stream = [](body_writer& to) -> task<> {
        const auto first = co_await to.write("abc");
        EXPECT_TRUE(first);
        co_await sleep_for(1s);
        const auto second = co_await to.write("de");
        EXPECT_TRUE(second);
    };
    send(asked);
    EXPECT_EQ(heard(0),
              "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    run(1s);
    EXPECT_EQ(heard(0), "2\r\nde\r\n0\r\n\r\n");
    asked.stream_size = 5;
    send(asked);
    run(1s);
    EXPECT_EQ(heard(1), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde");
    asked.stream_size = 6;
    send(asked);
    run(1s);
    EXPECT_EQ(last->error(), errc::wrong_size);
    EXPECT_TRUE(closed(2));
}

TEST_F(Client, UsesAConnectionAgain) {
    get("/1");
    reply(0, empty);
    ASSERT_TRUE(last->has_value());
    get("/2");  // the first response is gone
    EXPECT_EQ(servers.size(), 1U);
    EXPECT_TRUE(heard(0).ends_with("GET /2 HTTP/1.1\r\nHost: host\r\n\r\n"));
    reply(0, empty);
    last.reset();
    EXPECT_EQ(sender->stats().idle, 1U);
    EXPECT_EQ(sender->stats().connections, 1U);
    EXPECT_EQ(sender->stats().requests, 2U);
    send({.url = "http://other/"});
    EXPECT_EQ(servers.size(), 2U);
    sender->close_idle();
    EXPECT_TRUE(closed(0));
    EXPECT_EQ(sender->stats().idle, 0U);
}

TEST_F(Client, AConnectionIsUsedAgainOnlyWhereThatIsSafe) {
    struct row {
        std::string_view what;
        std::string_view answer;
        bool again;
    };
    for (const row& each : {
             row{"a body that has come", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", true},
             row{"a body that has not", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false},
             row{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true},
             row{"a malformed chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\n\n",
                 false},
             row{"bytes behind the body", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", false},
             row{"a second response", "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 204 No\r\n\r\n", false},
             row{"close", "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", false},
             row{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
             row{"no length", "HTTP/1.1 200 OK\r\n\r\nab", false},
         }) {
        get();
        const std::size_t which = servers.size() - 1;
        reply(which, each.answer);
        ASSERT_TRUE(last.has_value() && last->has_value()) << each.what;
        last.reset();
        EXPECT_EQ(sender->stats().idle, each.again ? 1U : 0U) << each.what;
        EXPECT_EQ(closed(which), !each.again) << each.what;
        sender->close_idle();
    }
}

TEST_F(Client, AnIdleConnectionGrowsOld) {
    options.idle_timeout = 20s;
    get();
    reply(0, empty);
    last.reset();
    run(19s);
    get();
    EXPECT_EQ(servers.size(), 1U);
    reply(0, empty);
    last.reset();
    run(20s);
    get();
    EXPECT_EQ(servers.size(), 2U);
    EXPECT_TRUE(closed(0));
}

TEST_F(Client, MoreRequestsThanConnectionsWait) {
    options.connections_max = 1;
    get("/1");
    reply(0, empty);
    answered first = std::move(*last);
    const time_point begin = simulated.clock().now();
    get("/2", begin + 5s);
    run(5s);
    ASSERT_TRUE(last.has_value());
    EXPECT_EQ(last->error(), std::errc::timed_out);
    get("/3");
    EXPECT_EQ(heard(0).find("/3"), std::string::npos);
    first = std::unexpected{std::error_code{}};
    run(0s);
    EXPECT_NE(heard(0).find("/3"), std::string::npos);
    EXPECT_EQ(servers.size(), 1U);
}

TEST_F(Client, ARequestIsRepeatedIfItsConnectionHadEnded) {
    get("/1");
    reply(0, empty);
    last.reset();
    get("/2");
    servers.at(0).close();  // before it has heard of the request
    run(0s);
    ASSERT_EQ(servers.size(), 2U);
    EXPECT_EQ(heard(1), "GET /2 HTTP/1.1\r\nHost: host\r\n\r\n");
    reply(1, empty);
    EXPECT_TRUE(last->has_value());
    EXPECT_EQ(sender->stats().retries, 1U);
}

TEST_F(Client, ARequestThatMayHaveHadItsEffectIsNotRepeated) {
    for (const std::string_view method : {"POST", "PATCH", "X"}) {
        get();
        reply(servers.size() - 1, empty);
        last.reset();
        send({.method = std::string{method}, .url = "http://host/", .body = "a"});
        servers.back().close();
        run(0s);
        ASSERT_TRUE(last.has_value()) << method;
        EXPECT_FALSE(last->has_value()) << method;
    }
    get();
    reply(servers.size() - 1, empty);
    last.reset();
    client_request stream{.method = "PUT", .url = "http://host/"};
    stream.stream = [](body_writer& to) -> task<> {
        const auto sent = co_await to.write("a");
        static_cast<void>(sent);
    };
    send(std::move(stream));
    servers.back().close();
    run(0s);
    EXPECT_FALSE(last->has_value());
    EXPECT_EQ(sender->stats().retries, 0U);
}

// Nothing was sent on it, so any request may go elsewhere.
TEST_F(Client, AnIdleConnectionThatHasEndedIsNotUsed) {
    get();
    reply(0, empty);
    last.reset();
    servers.at(0).close();
    send({.method = "POST", .url = "http://host/", .body = "a"});
    ASSERT_EQ(servers.size(), 2U);
    EXPECT_TRUE(heard(1).starts_with("POST / "));
    reply(1, empty);
    EXPECT_TRUE(last->has_value());
    EXPECT_EQ(sender->stats().retries, 0U);
}

// Otherwise it would be taken for the response to the next request.
TEST_F(Client, WhatComesUnaskedEndsAnIdleConnection) {
    get("/1");
    reply(0, empty);
    last.reset();
    heard(0);
    reply(0, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
    get("/2");
    EXPECT_TRUE(closed(0));
    EXPECT_EQ(heard(0), "");
    ASSERT_EQ(servers.size(), 2U);
    reply(1, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue");
    EXPECT_EQ(body_of(*last), "true");
}

TEST_F(Client, ARequestIsNotRepeatedAfterAByteOfTheResponse) {
    for (const bool resets : {false, true}) {
        get("/1");
        reply(servers.size() - 1, empty);
        last.reset();
        get("/2");
        reply(servers.size() - 1, "HTTP/1.1 2");
        const std::size_t before = servers.size();
        servers.back().out().reset = resets;
        servers.back().close();
        run(0s);
        ASSERT_TRUE(last.has_value());
        EXPECT_EQ(last->error(), resets ? make_error_code(std::errc::connection_reset)
                                        : make_error_code(errc::incomplete));
        EXPECT_EQ(servers.size(), before);
    }
}

TEST_F(Client, ANewConnectionIsNotTriedTwice) {
    get();
    servers.at(0).close();
    run(0s);
    EXPECT_EQ(last->error(), errc::closed);
    EXPECT_EQ(servers.size(), 1U);
    refusal = std::make_error_code(std::errc::connection_refused);
    get();
    EXPECT_EQ(last->error(), std::errc::connection_refused);
}

TEST_F(Client, TheDeadlineIsThatOfTheWhole) {
    const time_point begin = simulated.clock().now();
    get("/", begin + 10s);
    run(9s);
    reply(0, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na");
    ASSERT_TRUE(last->has_value());
    run(1s);
    EXPECT_EQ(body_of(*last), std::make_error_code(std::errc::timed_out).message());
    last.reset();
    EXPECT_TRUE(closed(0));
    get("/", simulated.clock().now() + 10s);
    run(10s);
    EXPECT_EQ(last->error(), std::errc::timed_out);
    EXPECT_TRUE(closed(1));
}

TEST_F(Client, SkipsInterimAnswers) {
    options.limits.interim_max = 2;
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    get();
    reply(0, interim);
    EXPECT_FALSE(last.has_value());
    reply(0, "HTTP/1.1 100 Continue\r\n\r\n" + std::string{empty});
    EXPECT_EQ((*last)->status(), 200);
    get();
    reply(0, interim + interim + interim);
    EXPECT_EQ(last->error(), errc::too_many_interim);
    get();
    reply(1, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
    EXPECT_EQ(last->error(), errc::unexpected_switch);
    EXPECT_TRUE(closed(1));
}

TEST_F(Client, HeadHasNoBody) {
    send({.method = "HEAD", .url = "http://host/"});
    reply(0, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ((*last)->field("content-length"), "5");
    EXPECT_EQ(body_of(*last), "");
    last.reset();
    EXPECT_EQ(sender->stats().idle, 1U);
}

TEST_F(Client, ReadsUntilTheServerEnds) {
    get();
    reply(0, "HTTP/1.0 200 OK\r\n\r\nab");
    servers.at(0).close();
    EXPECT_EQ(body_of(*last), "ab");
    get();
    reply(1, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    servers.at(1).close();
    EXPECT_EQ(body_of(*last), make_error_code(errc::incomplete).message());
}

TEST_F(Client, TheCallerOfReadAllMayWantLess) {
    get();
    reply(0, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
    EXPECT_EQ(body_of(*last, 4), make_error_code(errc::body_too_large).message());
}

TEST_F(Client, AServerMayAnswerBeforeTheBodyWasSent) {
    client_request asked{.method = "POST", .url = "http://host/"};
    asked.stream = [](body_writer& to) -> task<> {
        for (;;) {
            const auto sent = co_await to.write("x");
            if (!sent) co_return;
            co_await sleep_for(1s);
        }
    };
    send(std::move(asked));
    reply(0, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
    servers.at(0).close();
    run(2s);
    ASSERT_TRUE(last.has_value() && last->has_value());
    EXPECT_EQ((*last)->status(), 413);
    last.reset();
    EXPECT_EQ(sender->stats().idle, 0U);
}

TEST_F(Client, RefusesWhatCannotBeSent) {
    for (const std::string_view url :
         {"", "host", "/x", "ftp://host/", "http://", "http:///x", "http://u@h/", "http://h:x/",
          "http://h/a b", "http://h/\r\nX: y", "http://h/\xc3\xa4", "http://[x]/"}) {
        send({.url = std::string{url}});
        ASSERT_TRUE(last.has_value()) << url;
        EXPECT_EQ(last->error(), errc::bad_message) << url;
    }
    for (const std::string_view method : {"", "CONNECT", "G T", "GET / HTTP/1.1\r\n"}) {
        send({.method = std::string{method}, .url = "http://h"});
        EXPECT_EQ(last->error(), errc::bad_message) << method;
    }
    EXPECT_TRUE(servers.empty());
}

TEST_F(Client, AStopEndsTheWait) {
    sender.emplace(connects, options);
    const auto body = [](client& by, std::error_code& seen) -> task<> {
        client_request asked{.url = "http://host/"};
        const auto answer = co_await by.send(std::move(asked));
        seen = answer ? std::error_code{} : answer.error();
    };
    std::error_code seen;
    auto handle = spawn(simulated, body(*sender, seen));
    run(1s);
    handle.request_stop();
    run(0s);
    EXPECT_EQ(seen, std::errc::operation_canceled);
    EXPECT_TRUE(closed(0));
}

// --- with a server -------------------------------------------------------------------------------

TEST_F(Client, AndServerUnderstandEachOther) {
    answers = [](request& asked) -> task<response> {
        const auto body = co_await asked.read_all();
        response answer = response::text(200, std::string{asked.method()} + ' ' + *body);
        if (asked.path() == "/stream") {
            answer.stream = [text = answer.body](body_writer& to) -> task<> {
                for (const char each : text) {
                    const auto sent = co_await to.write({&each, 1});
                    if (!sent) co_return;
                }
            };
        }
        co_return answer;
    };
    for (const std::string_view path : {"/", "/stream"}) {
        for (const std::string_view method : {"GET", "POST", "DELETE"}) {
            send({.method = std::string{method},
                  .url = "http://h" + std::string{path},
                  .body = std::string(50000, 'x')});
            ASSERT_TRUE(last.has_value() && last->has_value());
            EXPECT_EQ(body_of(*last), std::string{method} + ' ' + std::string(50000, 'x'));
        }
    }
    EXPECT_EQ(sender->stats().connections, 1U);
}

TEST(Url, IsTakenApart) {
    const auto parsed = url::parse("HTTPS://Example.ORG?q");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->origin, (origin{"https", "example.org", 443}));
    EXPECT_EQ(parsed->target, "/?q");
    EXPECT_EQ(parsed->origin.authority(), "example.org");
    const auto v6 = url::parse("http://[::1]:8080/a/b?c=d#e");
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->origin, (origin{"http", "::1", 8080}));
    EXPECT_EQ(v6->origin.authority(), "[::1]:8080");
    EXPECT_EQ(v6->target, "/a/b?c=d");
    EXPECT_EQ(url::parse("http://h:/")->origin.port, 80);
}

}  // namespace
}  // namespace fairlead::http::client_tests
