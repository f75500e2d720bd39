// Bodies of requests and of answers, as they stream through a server.
#include "http/one_connection.hpp"

namespace fairlead::http::server_body_tests {
namespace {

using namespace std::chrono_literals;

class ServerBody : public one_connection {};

task<response> echo(request& asked) {
    auto body = co_await asked.read_all();
    if (!body) co_return response::refusing(body.error());
    co_return response::text(200, std::move(*body), "a");
}

response echo_at_once(request& asked) {
    return response::text(200, std::string{asked.body()}, "a");
}

// Answers without a look at the body.
response ignore(request&) { return response::text(200, "ignored", "a"); }
task<response> ignore_later(request& asked) { co_return ignore(asked); }

std::string post(std::string_view lines, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string{lines} + "\r\n" + std::string{body};
}

std::string answer_of(std::string_view body, std::string_view more = "") {
    return "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + std::string{more} + "\r\n" + std::string{body};
}

TEST_F(ServerBody, IsReadByCoroutinesAndCollectedForFunctions) {
    for (const handler& each : {handler{echo}, handler{echo_at_once}}) {
        start(each);
        EXPECT_EQ(say(post("Content-Length: 5\r\n", "hello")), answer_of("hello"));
        EXPECT_EQ(say(post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")),
                  answer_of("abcd"));
        EXPECT_EQ(say(post("Content-Length: 0\r\n", "")), answer_of(""));
        client.reset();
        run(0s);
    }
}

TEST_F(ServerBody, ComesInPiecesOfAnySize) {
    start(echo);
    const std::string all =
        post("Content-Length: 5\r\n", "hello") +
        post("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n2;x\r\ncd\r\n0\r\n\r\n") +
        post("Content-Length: 1\r\n", "x");
    std::string answers;
    for (const char each : all) answers += say({&each, 1});
    EXPECT_EQ(answers, answer_of("hello") + answer_of("abcd") + answer_of("x"));
    EXPECT_EQ(say(all), answers);
}

TEST_F(ServerBody, MayBeLargerThanTheBuffer) {
    start(echo);
    client->out().read_max = 1000;
    const std::string body(300000, 'x');
    const std::string got = say(post("Content-Length: 300000\r\n", body) + post("", ""));
    const outcome all = at_once<response_parser>(got);
    ASSERT_EQ(all.messages.size(), 2U);
    EXPECT_EQ(all.messages[0].body, body);
}

TEST_F(ServerBody, TheHeadStaysWhileTheBodyIsRead) {
    start([](request& asked) -> task<response> {
        const std::string_view path = asked.path();
        std::size_t size = 0;
        for (;;) {
            const auto piece = co_await asked.read_some();
            if (!piece || piece->empty()) break;
            size += piece->size();
        }
        co_return response::text(200, std::string{path} + ' ' + std::to_string(size), "a");
    });
    const std::string body(100000, 'x');
    const std::string get = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string large = "PUT /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + body;
    client->out().read_max = 777;
    EXPECT_EQ(say(get + large + get),
              answer_of("/1 0") + answer_of("/2 100000") + answer_of("/1 0"));
}

TEST_F(ServerBody, AClientThatExpectsItIsToldToContinue) {
    start(echo);
    EXPECT_EQ(say(post("Content-Length: 2\r\nExpect: 100-continue\r\n", "")),
              "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(say("hi"), answer_of("hi"));
    // The body is there already.
    EXPECT_EQ(say(post("Content-Length: 2\r\nExpect: 100-continue\r\n", "hi")), answer_of("hi"));
}

TEST_F(ServerBody, ARefusedClientIsNotToldToContinue) {
    start(ignore_later);
    EXPECT_EQ(say(post("Content-Length: 2\r\nExpect: 100-continue\r\n", "")),
              answer_of("ignored", "Connection: close\r\n"));
    EXPECT_TRUE(closed());
}

TEST_F(ServerBody, ATooLargeBodyIsRefusedBeforeItComes) {
    options.limits.body_max = 10;
    for (const handler& each : {handler{echo}, handler{echo_at_once}}) {
        start(each);
        const std::string answer = say(post("Content-Length: 11\r\nExpect: 100-continue\r\n", ""));
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 Content Too Large\r\n")) << answer;
        EXPECT_TRUE(closed());
        client.reset();
        run(1min);
    }
}

// It could be dropped, by `drop_max`, but the decoder refuses it.
TEST_F(ServerBody, AfterATooLargeBodyTheConnectionIsClosedAndTheAnswerSaysSo) {
    options.limits.body_max = 10;
    for (const handler& each : {handler{ignore_later}, handler{[](request&) -> task<response> {
                                    response answer;
                                    answer.fields.add("Content-Type", "a");
                                    answer.stream = [](body_writer& to) -> task<> {
                                        EXPECT_TRUE(co_await to.write("ignored"));
                                    };
                                    answer.stream_size = 7;
                                    co_return answer;
                                }}}) {
        start(each);
        EXPECT_EQ(say(post("Content-Length: 11\r\n", "")),
                  answer_of("ignored", "Connection: close\r\n"));
        EXPECT_TRUE(closed());
        client.reset();
        run(1min);
    }
}

TEST_F(ServerBody, AMalformedBodyIsRefused) {
    for (const handler& each : {handler{echo}, handler{echo_at_once}, handler{ignore_later}}) {
        start(each);
        const std::string answer = say(post("Transfer-Encoding: chunked\r\n", "1\nx\r\n0\r\n\r\n"));
        EXPECT_NE(answer.find("Connection: close\r\n"), answer.npos) << answer;
        EXPECT_TRUE(closed());
        client.reset();
        run(1min);
    }
}

TEST_F(ServerBody, WhatIsNotReadIsDropped) {
    options.drop_max = 10;
    start(ignore_later);
    const std::string kept = answer_of("ignored");
    const std::string next = post("", "");
    EXPECT_EQ(say(post("Content-Length: 5\r\n", "hello") + next), kept + kept);
    // Some is to come, but not much.
    EXPECT_EQ(say(post("Content-Length: 15\r\n", "hello")), kept);
    EXPECT_EQ(say("0123456789" + next), kept);
    EXPECT_EQ(say(post("Transfer-Encoding: chunked\r\n", "1\r\nx\r\n0\r\n\r\n") + next),
              kept + kept);
    EXPECT_FALSE(closed());
    // Too much.
    EXPECT_EQ(say(post("Content-Length: 16\r\n", "hello")),
              answer_of("ignored", "Connection: close\r\n"));
    EXPECT_TRUE(closed());
}

// Bytes that come after the close would make the system reset the connection, and the client could
// lose the answer.
TEST_F(ServerBody, WhatIsNotReadIsReceivedBeforeTheConnectionIsClosed) {
    const auto stream_without_reading = [](request&) -> task<response> {
        response answer;
        answer.stream = [](body_writer& to) -> task<> { EXPECT_TRUE(co_await to.write("abc")); };
        co_return answer;
    };
    const auto fail_without_reading = [](request&) -> task<response> {
        response answer;
        answer.stream = [](body_writer&) -> task<> {
            co_await yield();
            throw std::runtime_error{"nothing"};
        };
        co_return answer;
    };
    for (const handler& answers :
         {handler{ignore_later}, handler{stream_without_reading}, handler{fail_without_reading}}) {
        start(answers);
        EXPECT_NE(say(post("Connection: close\r\nContent-Length: 10\r\n", "01234")), "");
        EXPECT_TRUE(closed());
        EXPECT_FALSE(server->ended());
        EXPECT_EQ(say("56789", options.linger_timeout - 1ms), "");
        EXPECT_FALSE(server->ended());
        run(1ms);
        EXPECT_TRUE(server->ended());
        client.reset();
    }
}

TEST_F(ServerBody, ABodyThatIsNotReadIsNoRequest) {
    start(ignore_later);
    const std::string hidden = post("", "");
    const std::string all =
        say(post("Content-Length: " + std::to_string(hidden.size()) + "\r\n", hidden));
    EXPECT_EQ(at_once<response_parser>(all).messages.size(), 1U);
}

TEST_F(ServerBody, ASlowBodyIsRefused) {
    options.body_timeout = 60s;
    start(echo);
    std::string answer = say(post("Content-Length: 100\r\n", ""));
    int seconds = 0;
    while (answer.empty() && seconds != 100) {
        answer = say("x", 1s);
        ++seconds;
    }
    EXPECT_EQ(seconds, 60);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
}

TEST_F(ServerBody, TheHandlerMayWaitLonger) {
    start([](request& asked) -> task<response> {
        asked.read_until(clock::now() + 1h);
        co_return co_await echo(asked);
    });
    EXPECT_EQ(say(post("Content-Length: 2\r\n", "h"), 50min), "");
    EXPECT_EQ(say("i"), answer_of("hi"));
}

TEST_F(ServerBody, AnEndInTheMiddleIsToldToTheHandler) {
    std::error_code seen;
    start([&seen](request& asked) -> task<response> {
        const auto body = co_await asked.read_all();
        seen = body ? std::error_code{} : body.error();
        co_return ignore(asked);
    });
    client->out().bytes = post("Content-Length: 3\r\n", "x");
    EXPECT_TRUE(client->shutdown_send());
    EXPECT_EQ(say(""), answer_of("ignored", "Connection: close\r\n"));
    EXPECT_EQ(seen, errc::incomplete);
}

TEST_F(ServerBody, TheCallerOfReadAllMayWantLess) {
    start([](request& asked) -> task<response> {
        const auto body = co_await asked.read_all(3);
        if (!body) co_return response::refusing(body.error());
        co_return ignore(asked);
    });
    EXPECT_EQ(say(post("Content-Length: 3\r\n", "abc")), answer_of("ignored"));
    EXPECT_TRUE(say(post("Content-Length: 4\r\n", "abcd")).starts_with("HTTP/1.1 413 "));
}

// --- streams -------------------------------------------------------------------------------------

response stream_of(std::vector<std::string> parts, std::optional<std::uint64_t> size = {}) {
    response answer;
    answer.stream_size = size;
    answer.stream = [parts](body_writer& to) -> task<> {
        for (const std::string& each : parts) {
            const auto sent = co_await to.write(each);
            if (!sent) co_return;
            co_await yield();
        }
    };
    return answer;
}

TEST_F(ServerBody, IsStreamedInChunks) {
    start([](request&) -> task<response> { co_return stream_of({"abc", "", "0123456789abcdef"}); });
    const std::string answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        "10\r\n0123456789abcdef\r\n0\r\n\r\n";
    EXPECT_EQ(say(post("", "")), answer);
    EXPECT_EQ(writes().size(), 3U);  // head and first part; second part; end
    EXPECT_EQ(say(post("", "")), answer);
}

TEST_F(ServerBody, IsStreamedWithALength) {
    start([](request&) -> task<response> { co_return stream_of({"abc", "def"}, 6); });
    EXPECT_EQ(say(post("", "")), "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef");
    EXPECT_EQ(say("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"),
              "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
    EXPECT_FALSE(closed());
}

TEST_F(ServerBody, IsStreamedToHttp10UntilTheEnd) {
    start([](request&) -> task<response> { co_return stream_of({"abc", "def"}); });
    EXPECT_EQ(say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcdef");
    EXPECT_TRUE(closed());
}

TEST_F(ServerBody, AFunctionMayStreamToo) {
    start([](request&) { return stream_of({"abc"}, 3); });
    EXPECT_EQ(say(post("", "") + post("", "")),
              "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
              "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
}

TEST_F(ServerBody, AStreamOfTheWrongSizeClosesTheConnection) {
    start([](request& asked) -> task<response> {
        co_return stream_of({"abc"}, asked.path() == "/more" ? 2 : 4);
    });
    EXPECT_EQ(say("GET /less HTTP/1.1\r\nHost: a\r\n\r\n"),
              "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc");
    EXPECT_TRUE(closed());
    client.reset();
    run(0s);
    start([](request&) -> task<response> { co_return stream_of({"abc"}, 2); });
    EXPECT_EQ(say("GET /more HTTP/1.1\r\nHost: a\r\n\r\n"), "");
    EXPECT_TRUE(closed());
}

TEST_F(ServerBody, AStreamThatFailsIsCutOff) {
    start([](request&) -> task<response> {
        response answer;
        answer.stream = [](body_writer& to) -> task<> {
            const auto sent = co_await to.write("abc");
            EXPECT_TRUE(sent);
            throw std::runtime_error{"no more"};
        };
        co_return answer;
    });
    EXPECT_EQ(say(post("", "")),
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    EXPECT_TRUE(closed());
}

TEST_F(ServerBody, AStreamThatFailsAtOnceIsStatus500) {
    start([](request&) -> task<response> {
        response answer;
        answer.stream = [](body_writer&) -> task<> {
            co_await yield();
            throw std::runtime_error{"nothing"};
        };
        co_return answer;
    });
    EXPECT_TRUE(say(post("", "")).starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
    EXPECT_TRUE(closed());
}

// The end of the connection is the end of such a body, so it must not look like one.
TEST_F(ServerBody, AStreamToHttp10ThatFailsEndsWithAReset) {
    start([](request&) -> task<response> {
        response answer;
        answer.stream = [](body_writer& to) -> task<> {
            EXPECT_TRUE(co_await to.write("abc"));
            throw std::runtime_error{"no more"};
        };
        co_return answer;
    });
    const std::string_view ask = "GET / HTTP/1.0\r\n\r\n";
    EXPECT_EQ(say(ask), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    EXPECT_TRUE(closed());
    EXPECT_TRUE(client->in().reset);
    client.reset();
    start([](request&) -> task<response> { co_return stream_of({"abc"}); });
    EXPECT_EQ(say(ask), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    EXPECT_TRUE(closed());
    EXPECT_FALSE(client->in().reset);
}

TEST_F(ServerBody, ASlowReaderWithHttp10IsResetInTheMiddle) {
    start([](request&) -> task<response> { co_return stream_of({std::string(100, 'x')}); });
    client->in().room = 60;
    EXPECT_EQ(say("GET / HTTP/1.0\r\n\r\n", options.write_timeout + 1s).size(), 60U);
    EXPECT_TRUE(closed());
    EXPECT_TRUE(client->in().reset);
}

// A stream that tells of its end within its bytes, as TLS does.
class noticing_stream {
public:
    explicit noticing_stream(memory_stream below) : below_{std::move(below)} {}

    auto read_some(std::span<std::byte> buffer, time_point deadline) {
        return below_.read_some(buffer, deadline);
    }
    auto write_all(std::span<const std::byte> data, time_point deadline) {
        return below_.write_all(data, deadline);
    }
    auto write_all(std::span<const std::span<const std::byte>> parts, time_point deadline) {
        return below_.write_all(parts, deadline);
    }
    auto send_end(time_point deadline) {
        return below_.write_all(std::as_bytes(std::span{std::string_view{"[end]"}}), deadline);
    }
    void close() noexcept { below_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return below_.is_open(); }

private:
    memory_stream below_;
};

TEST_F(ServerBody, TheEndOfAWholeAnswerIsToldWithinTheStream) {
    const auto begin = [this](std::function<task<>(body_writer&)> stream) {
        auto [theirs, ours] = make_pipe();
        client.emplace(std::move(ours));
        const auto answers = [stream](request&) {
            response answer;
            answer.stream = stream;
            return answer;
        };
        server.emplace(spawn(
            simulated, serve_connection(noticing_stream{std::move(theirs)}, answers, options)));
    };
    const std::string_view ask = "GET / HTTP/1.0\r\n\r\n";
    const std::string whole = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc";
    begin([](body_writer& to) -> task<> { EXPECT_TRUE(co_await to.write("abc")); });
    EXPECT_EQ(say(ask), whole + "[end]");
    EXPECT_TRUE(server->ended());
    begin([](body_writer& to) -> task<> {
        EXPECT_TRUE(co_await to.write("abc"));
        throw std::runtime_error{"no more"};
    });
    EXPECT_EQ(say(ask), whole);
    EXPECT_TRUE(server->ended());
    // A request that is refused: what comes of it is still read, and a stop changes nothing.
    begin({});
    EXPECT_TRUE(say("bad\r\n").ends_with("\n[end]"));
    EXPECT_FALSE(server->ended());
    run(options.linger_timeout);
    EXPECT_TRUE(server->ended());
    begin({});
    run(0s);
    server->request_stop();
    EXPECT_EQ(say(""), "[end]");
    EXPECT_TRUE(server->ended());
}

TEST_F(ServerBody, ASlowReaderMakesTheWriterSlow) {
    std::size_t written = 0;
    start([&written](request&) -> task<response> {
        response answer;
        answer.stream = [&written](body_writer& to) -> task<> {
            const std::string part(1000, 'x');
            for (int i = 0; i != 100; ++i) {
                const auto sent = co_await to.write(part);
                if (!sent) co_return;
                written += part.size();
            }
        };
        co_return answer;
    });
    client->in().room = 5000;
    client->out().bytes = post("", "");
    client->out().readable.set();
    run(1s);
    EXPECT_LE(written, 5000U);
    std::string all;
    for (int i = 0; i != 100 && written != 100000; ++i) {
        all += std::exchange(client->in().bytes, {});
        client->in().writable.set();
        run(1s);
    }
    EXPECT_EQ(written, 100000U);
    all += client->in().bytes;
    EXPECT_EQ(at_once<response_parser>(all).messages.at(0).body, std::string(100000, 'x'));
}

TEST_F(ServerBody, AStreamHearsThatTheClientIsGone) {
    std::error_code seen;
    start([&seen](request&) -> task<response> {
        response answer;
        answer.stream = [&seen](body_writer& to) -> task<> {
            for (;;) {
                const auto sent = co_await to.write("x");
                if (!sent) seen = sent.error();
                if (!sent) co_return;
                co_await sleep_for(1s);
            }
        };
        co_return answer;
    });
    EXPECT_NE(say(post("", ""), 3s), "");
    client->close();
    run(3s);
    EXPECT_EQ(seen, std::errc::connection_reset);
    EXPECT_TRUE(server->ended());
}

TEST_F(ServerBody, AStreamMayReadTheRequestMeanwhile) {
    start([](request& asked) -> task<response> {
        response answer;
        answer.stream = [&asked](body_writer& to) -> task<> {
            for (;;) {
                const auto piece = co_await asked.read_some();
                if (!piece || piece->empty()) co_return;
                const auto sent = co_await to.write(*piece);
                if (!sent) co_return;
            }
        };
        co_return answer;
    });
    EXPECT_EQ(say(post("Content-Length: 4\r\n", "ab")),
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    EXPECT_EQ(say("cd"), "2\r\ncd\r\n0\r\n\r\n");
    EXPECT_EQ(say(post("", "")).substr(0, 15), "HTTP/1.1 200 OK");
}

}  // namespace
}  // namespace fairlead::http::server_body_tests
