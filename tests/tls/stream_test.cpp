// A TLS stream between its ends: data, ends, deadlines, stops, what was agreed on.
#include "tls/ends.hpp"

#include <fairlead/context/with_deadline.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace fairlead::io::stream_tests {
namespace {

using namespace std::chrono_literals;
using test::connected_ends;
using test::done;
using test::read_text;
using test::text_or_error;
using test::write_text;

class TlsStream : public connected_ends {
protected:
    // OpenSSL's own function, for what the interface does not offer.
    static SSL* handle_of(test::stream& end) { return end.engine().native_handle(); }
    static detail::tls_bytes& output_of(test::stream& end) {
        return const_cast<detail::tls_engine&>(end.engine()).output();
    }
};

std::string much(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
    return text;
}

TEST_F(TlsStream, CarriesBytesBothWays) {
    connect();
    EXPECT_EQ(client->peer().version, "TLSv1.3");
    for (const std::size_t size : {1U, 100U, 16384U, 16385U, 300000U}) {
        const std::string text = much(size);
        EXPECT_TRUE(run(write_text(*client, text)).has_value());
        EXPECT_EQ(run(read_text(*server, size)), text);
        EXPECT_TRUE(run(write_text(*server, text)).has_value());
        EXPECT_EQ(run(read_text(*client, size)), text);
    }
}

TEST_F(TlsStream, SendsWhatIsSmallInOnePiece) {
    connect();
    const std::size_t before = to_server->writes;
    EXPECT_TRUE(run(write_text(*client, much(40000))).has_value());
    EXPECT_EQ(to_server->writes, before + 1);
}

TEST_F(TlsStream, NothingWrittenIsNothingSent) {
    connect();
    const std::size_t before = to_server->writes;
    EXPECT_TRUE(run(write_text(*client, "")).has_value());
    EXPECT_EQ(to_server->writes, before);
    EXPECT_EQ(run(server->read_some({})), 0U);
}

// --- ends ----------------------------------------------------------------------------------------

TEST_F(TlsStream, AnEndIsReadAsZero) {
    connect();
    EXPECT_TRUE(run(write_text(*client, "all")).has_value());
    EXPECT_TRUE(run(client->send_end()).has_value());
    client.reset();
    EXPECT_EQ(run(read_text(*server)), "all");
    EXPECT_EQ(run(read_text(*server)), "");  // and again
}

TEST_F(TlsStream, AnEndWithoutACloseNotifyIsTruncated) {
    connect();
    EXPECT_TRUE(run(write_text(*client, "some")).has_value());
    client.reset();  // as an attacker ends it, or a process that dies
    EXPECT_EQ(run(read_text(*server, 4)), "some");
    for (int i = 0; i != 2; ++i) {
        const text_or_error got = run(read_text(*server));
        ASSERT_FALSE(got.has_value());
        EXPECT_EQ(got.error(), tls_errc::truncated);
    }
}

TEST_F(TlsStream, AnEndWithinARecordIsTruncated) {
    connect();
    to_server->cut_after = to_server->delivered + 30;  // within the first record
    to_server->then = [] { return 0U; };
    EXPECT_TRUE(run(write_text(*client, much(1000))).has_value());
    const text_or_error got = run(read_text(*server));
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error(), tls_errc::truncated);
}

TEST_F(TlsStream, AnEndIsOfOneDirection) {
    connect();
    EXPECT_TRUE(run(client->send_end()).has_value());
    EXPECT_EQ(run(read_text(*server)), "");
    EXPECT_TRUE(run(write_text(*server, "still here")).has_value());
    EXPECT_EQ(run(read_text(*client, 10)), "still here");
    EXPECT_TRUE(run(server->send_end()).has_value());
    EXPECT_EQ(run(read_text(*client)), "");
}

TEST_F(TlsStream, AnEndWaitsForNobody) {
    connect();
    auto ends = start(client->send_end());
    settle();
    ASSERT_TRUE(ends.ended());  // the server has read nothing
    EXPECT_TRUE(ends.get().has_value());
    EXPECT_TRUE(run(client->send_end()).has_value());  // once more does nothing
    EXPECT_EQ(run(write_text(*client, "late")).error(), std::errc::broken_pipe);
}

TEST_F(TlsStream, CloseIsAtOnce) {
    connect();
    EXPECT_TRUE(client->is_open());
    client->close();
    EXPECT_FALSE(client->is_open());
    EXPECT_EQ(run(read_text(*server)).error(), tls_errc::truncated);
}

TEST_F(TlsStream, AResetOverAStreamWithoutOneIsAClose) {
    connect();
    client->reset();
    EXPECT_FALSE(client->is_open());
    EXPECT_EQ(run(read_text(*server)).error(), tls_errc::truncated);
}

task<done> write_parts(test::stream& to, std::span<const std::span<const std::byte>> parts) {
    co_return co_await to.write_all(parts);
}

TEST_F(TlsStream, SendsSmallPartsInOnePiece) {
    connect();
    const std::string head = "head";
    const std::string body = much(40000);
    const std::array<std::span<const std::byte>, 4> parts{
        test::as_bytes_of(head), std::span<const std::byte>{}, test::as_bytes_of(body),
        std::span<const std::byte>{}};
    const std::size_t before = to_server->writes;
    EXPECT_TRUE(run(write_parts(*client, parts)).has_value());
    EXPECT_EQ(to_server->writes, before + 1);
    EXPECT_EQ(run(read_text(*server, head.size() + body.size())), head + body);
}

// Of many parts no more than the limit of one write is kept until it is sent.
TEST_F(TlsStream, SendsManyPartsInPiecesOfALimitedSize) {
    connect();
    const std::string text = much(10000);
    const std::vector<std::span<const std::byte>> parts(40, test::as_bytes_of(text));
    const std::size_t before = to_server->writes;
    EXPECT_TRUE(run(write_parts(*client, parts)).has_value());
    EXPECT_EQ(to_server->writes, before + 6);  // of 7 parts, which are more than 64 KiB, each
    std::string all;
    for (int i = 0; i != 40; ++i) all += text;
    EXPECT_EQ(run(read_text(*server, all.size())), all);
}

TEST_F(TlsStream, MayMove) {
    connect();
    test::stream moved = std::move(*client);
    EXPECT_FALSE(client->is_open());
    EXPECT_TRUE(run(write_text(moved, "moved")).has_value());
    EXPECT_EQ(run(read_text(*server, 5)), "moved");
}

TEST_F(TlsStream, WhatIsNoTlsIsAnErrorOfTheProtocol) {
    connect();
    std::string garbage = "GET / HTTP/1.1\r\n\r\n";
    EXPECT_TRUE(to_server->pieces.try_send(std::move(garbage)).has_value());
    const text_or_error got = run(read_text(*server));
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error(), tls_errc::protocol) << got.error().message();
    // It stays so, for both directions, and the client is told why.
    EXPECT_EQ(run(read_text(*server)).error(), got.error());
    EXPECT_EQ(run(write_text(*server, "more")).error(), got.error());
    EXPECT_EQ(run(read_text(*client)).error(), tls_errc::alert);
}

TEST_F(TlsStream, AChangedByteIsAnErrorOfTheProtocol) {
    connect();
    EXPECT_TRUE(run(write_text(*client, "a message")).has_value());
    auto record = to_server->pieces.try_receive();
    ASSERT_TRUE(record.has_value());
    record->back() = static_cast<char>(record->back() ^ 1);
    EXPECT_TRUE(to_server->pieces.try_send(std::move(*record)).has_value());
    EXPECT_EQ(run(read_text(*server)).error(), tls_errc::protocol);
}

// The queue of errors is the thread's, on which other code calls OpenSSL, too.
TEST_F(TlsStream, ErrorsOfOtherCallsDoNotCount) {
    connect();
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    auto read = start(read_text(*server, 4));
    settle();
    EXPECT_FALSE(read.ended()) << "it waits for input, and has not failed";
    EXPECT_EQ(ERR_peek_error(), 0U);
    EXPECT_TRUE(run(write_text(*client, "here")).has_value());
    EXPECT_EQ(read.get(), "here");
    std::string garbage(100, '!');
    EXPECT_TRUE(to_server->pieces.try_send(std::move(garbage)).has_value());
    EXPECT_FALSE(run(read_text(*server)).has_value());
    EXPECT_EQ(ERR_peek_error(), 0U) << "nor does it leave one";
}

// --- deadlines and stops -------------------------------------------------------------------------

TEST_F(TlsStream, AReadThatIsLateLosesNothing) {
    connect();
    const time_point deadline = clock::now() + 5s;
    EXPECT_EQ(run(read_text(*server, 4, deadline)).error(), std::errc::timed_out);
    EXPECT_EQ(clock::now(), deadline);
    EXPECT_TRUE(run(write_text(*client, "here")).has_value());
    EXPECT_EQ(run(read_text(*server, 4)), "here");
}

template <class Result>
task<> notes_the_error(task<Result> of, std::error_code& error) {
    const Result result = co_await std::move(of);
    if (!result) error = result.error();
}

TEST_F(TlsStream, AnInheritedDeadlineHasAnErrorOfItsOwn) {
    connect({}, {}, 4);
    std::error_code of_read;
    std::error_code of_write;
    static_cast<void>(
        run(with_deadline(clock::now() + 5s, notes_the_error(read_text(*client, 4), of_read))));
    static_cast<void>(run(with_deadline(
        clock::now() + 5s, notes_the_error(write_text(*client, much(1000000)), of_write))));
    EXPECT_EQ(of_read, std::errc::stream_timeout);
    EXPECT_EQ(of_write, std::errc::stream_timeout);
}

TEST_F(TlsStream, AReadThatIsStoppedWithinARecordLosesNothing) {
    connect();
    std::size_t left = 10;
    to_server->piece = [&left](std::size_t size) {
        return std::exchange(left, 0) == 0 ? size : 10;
    };
    EXPECT_TRUE(run(write_text(*client, "a message")).has_value());
    auto rest = to_server->pieces.try_receive();
    ASSERT_TRUE(rest.has_value());
    std::string second = rest->substr(12);
    rest->resize(12);
    EXPECT_TRUE(to_server->pieces.try_send(std::move(*rest)).has_value());
    auto read = start(read_text(*server, 9));
    settle();
    read.request_stop();
    settle();
    ASSERT_TRUE(read.ended());
    EXPECT_EQ(read.get().error(), std::errc::operation_canceled);
    EXPECT_TRUE(to_server->pieces.try_send(std::move(second)).has_value());
    EXPECT_EQ(run(read_text(*server, 9)), "a message");
}

TEST_F(TlsStream, AHandshakeEndsAtItsDeadline) {
    test::memory_connection connection;
    const time_point deadline = clock::now() + 5s;
    const auto accepted =
        run(test::stream::accept(std::move(connection.server), harbour.server(), deadline));
    ASSERT_FALSE(accepted.has_value());
    EXPECT_EQ(accepted.error(), std::errc::timed_out);
    EXPECT_EQ(clock::now(), deadline);
}

TEST_F(TlsStream, AHandshakeEndsAtAStop) {
    test::memory_connection connection;
    auto connecting =
        start(test::stream::connect(std::move(connection.client), harbour.client(), "localhost"));
    settle();
    EXPECT_FALSE(connecting.ended());
    connecting.request_stop();
    settle();
    ASSERT_TRUE(connecting.ended());
    const auto made = connecting.get();
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error(), std::errc::operation_canceled);
}

TEST_F(TlsStream, AWriteThatIsLateBreaksTheWriting) {
    connect({}, {}, 4);
    const time_point deadline = clock::now() + 5s;
    const done late = run(write_text(*client, much(1000000), deadline));
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error(), std::errc::timed_out);
    EXPECT_EQ(run(write_text(*client, "more")).error(), tls_errc::broken);
    EXPECT_EQ(run(client->send_end()).error(), tls_errc::broken);
    // Reading goes on.
    EXPECT_TRUE(run(write_text(*server, "an answer")).has_value());
    EXPECT_EQ(run(read_text(*client, 9)), "an answer");
}

TEST_F(TlsStream, AWriteThatIsStoppedBreaksTheWriting) {
    connect({}, {}, 4);
    auto write = start(write_text(*client, much(1000000)));
    settle();
    EXPECT_FALSE(write.ended());
    write.request_stop();
    settle();
    ASSERT_TRUE(write.ended());
    EXPECT_EQ(write.get().error(), std::errc::operation_canceled);
    EXPECT_EQ(run(write_text(*client, "more")).error(), tls_errc::broken);
}

task<std::pair<done, done>> writes_although_stopped(test::stream& to) {
    while (!co_await stop_requested()) static_cast<void>(co_await as_result(yield()));
    std::string text = "for nothing";
    const done refused = co_await to.write_all(test::as_bytes_of(text));
    const done ended = co_await shielded(to.send_end());
    co_return std::pair{refused, ended};
}

TEST_F(TlsStream, AWriteThatDoesNotBeginBreaksNothing) {
    connect();
    auto write = start(writes_although_stopped(*client));
    write.request_stop();
    settle();
    ASSERT_TRUE(write.ended());
    const auto [refused, ended] = write.get();
    EXPECT_EQ(refused.error(), std::errc::operation_canceled);
    EXPECT_TRUE(ended.has_value());
    EXPECT_EQ(run(read_text(*server)), "");
}

// --- what is agreed on ---------------------------------------------------------------------------

TEST_F(TlsStream, AgreesOnAProtocol) {
    connect({.alpn = {"h2", "http/1.1"}}, {.alpn = {"http/1.1", "h2"}});
    EXPECT_EQ(client->alpn(), "http/1.1");  // the server prefers it
    EXPECT_EQ(server->alpn(), "http/1.1");
}

TEST_F(TlsStream, NeedsNoProtocol) {
    connect({.alpn = {"h2"}}, {});
    EXPECT_EQ(client->alpn(), "");
    connect({}, {.alpn = {"h2"}});
    EXPECT_EQ(server->alpn(), "");
}

TEST_F(TlsStream, RefusesAClientWithOtherProtocols) {
    const auto made = shake_hands(home, test::memory_connection{}, harbour.client({.alpn = {"h2"}}),
                                  harbour.server({.alpn = {"http/1.1"}}));
    ASSERT_FALSE(made.server.has_value() || made.client.has_value());
    EXPECT_EQ(made.server.error(), tls_errc::no_shared_protocol);
    EXPECT_EQ(made.client.error(), tls_errc::no_shared_protocol);
    EXPECT_EQ(made.client.error(), tls_errc::alert);
}

TEST_F(TlsStream, RefusesAClientWithOtherVersions) {
    const auto made = shake_hands(home, test::memory_connection{},
                                  harbour.client({.version_max = tls_version::v1_2}),
                                  harbour.server({.version_min = tls_version::v1_3}));
    ASSERT_FALSE(made.server.has_value() || made.client.has_value());
    EXPECT_EQ(made.server.error(), tls_errc::protocol);
    EXPECT_EQ(made.client.error(), tls_errc::alert);
}

class Hosts : public TlsStream {
protected:
    [[nodiscard]] tls_host host(const std::string& name) const {
        return {name, identity_of(test::issue({.common_name = name, .alternatives = "DNS:" + name},
                                              &harbour.root))};
    }
    [[nodiscard]] std::string shown_to(const std::string& asked,
                                       const tls_server_options& options) {
        const auto made = shake_hands(home, test::memory_connection{},
                                      harbour.client({.accept_any_certificate = true}),
                                      harbour.server(options), asked);
        EXPECT_TRUE(made.both_made());
        EXPECT_EQ(made.server->peer().server_name, asked.find(':') == asked.npos ? asked : "");
        return made.client->peer().subject;
    }
};

TEST_F(Hosts, HaveIdentitiesOfTheirOwn) {
    const tls_server_options options{.hosts = {host("a.example"), host("*.b.example")}};
    EXPECT_EQ(shown_to("a.example", options), "CN=a.example");
    EXPECT_EQ(shown_to("A.Example", options), "CN=a.example");
    EXPECT_EQ(shown_to("x.b.example", options), "CN=*.b.example");
    EXPECT_EQ(shown_to("b.example", options), "CN=localhost");
    EXPECT_EQ(shown_to("x.y.b.example", options), "CN=localhost");
    EXPECT_EQ(shown_to("c.example", options), "CN=localhost");
    EXPECT_EQ(shown_to("::1", options), "CN=localhost");  // an address is not asked for
}

TEST_F(Hosts, AskForTheSameClients) {
    const tls_server_options options{
        .hosts = {host("a.example")}, .client_roots = test::trusting(harbour.root), .alpn = {"h2"}};
    const auto sailor =
        identity_of(test::issue({.common_name = "sailor", .purpose = "clientAuth"}, &harbour.root));
    const auto made = shake_hands(home, test::memory_connection{},
                                  harbour.client({.identity = sailor, .alpn = {"h2"}}),
                                  harbour.server(options), "a.example");
    ASSERT_TRUE(made.both_made());
    EXPECT_EQ(made.server->peer().subject, "CN=sailor");
    EXPECT_EQ(made.client->alpn(), "h2");
}

// --- sessions ------------------------------------------------------------------------------------

class Sessions : public TlsStream, public testing::WithParamInterface<tls_version> {
protected:
    // Connects, exchanges a message, in which sessions come, and ends.
    tls_peer exchange(const tls_context& of_client, const tls_context& of_server,
                      const std::string& host = "localhost") {
        auto made = shake_hands(home, test::memory_connection{}, of_client, of_server, host);
        EXPECT_TRUE(made.both_made());
        EXPECT_TRUE(run(write_text(*made.server, "hello")).has_value());
        EXPECT_EQ(run(read_text(*made.client, 5)), "hello");
        EXPECT_EQ(made.client->peer().resumed, made.server->peer().resumed);
        return made.server->peer();
    }
};

TEST_P(Sessions, AreResumed) {
    const auto of_client = harbour.client({.version_max = GetParam()});
    const auto of_server = harbour.server();
    EXPECT_FALSE(exchange(of_client, of_server).resumed);
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(exchange(of_client, of_server).resumed);
}

TEST_P(Sessions, AreOfOneHost) {
    const auto of_client = harbour.client({.version_max = GetParam()});
    const auto of_server = harbour.server();
    EXPECT_FALSE(exchange(of_client, of_server, "localhost").resumed);
    EXPECT_FALSE(exchange(of_client, of_server, "127.0.0.1").resumed);
    EXPECT_TRUE(exchange(of_client, of_server, "localhost").resumed);
}

TEST_P(Sessions, EndWithTheContextOfTheServer) {
    const auto of_client = harbour.client({.version_max = GetParam()});
    EXPECT_FALSE(exchange(of_client, harbour.server()).resumed);
    EXPECT_FALSE(exchange(of_client, harbour.server()).resumed);  // as after a renewal
}

TEST_P(Sessions, AreKeptWithinALimit) {
    const auto without = harbour.client({.version_max = GetParam(), .sessions_max = 0});
    const auto of_server = harbour.server();
    EXPECT_FALSE(exchange(without, of_server).resumed);
    EXPECT_FALSE(exchange(without, of_server).resumed);
    const auto with_one = harbour.client({.version_max = GetParam(), .sessions_max = 1});
    EXPECT_FALSE(exchange(with_one, of_server, "localhost").resumed);
    EXPECT_FALSE(exchange(with_one, of_server, "127.0.0.1").resumed);
    EXPECT_FALSE(exchange(with_one, of_server, "localhost").resumed);
}

TEST_P(Sessions, KeepWhatTheClientHasShown) {
    const auto sailor = identity_of(test::issue(
        {.common_name = "sailor", .alternatives = "", .purpose = "clientAuth"}, &harbour.root));
    const auto of_client = harbour.client({.identity = sailor, .version_max = GetParam()});
    const auto of_server = harbour.server({.client_roots = test::trusting(harbour.root)});
    EXPECT_EQ(exchange(of_client, of_server).subject, "CN=sailor");
    const tls_peer again = exchange(of_client, of_server);
    EXPECT_TRUE(again.resumed);
    EXPECT_EQ(again.subject, "CN=sailor");
}

INSTANTIATE_TEST_SUITE_P(Versions, Sessions, testing::Values(tls_version::v1_2, tls_version::v1_3));

// --- messages after the handshake ----------------------------------------------------------------

// OpenSSL 3.0 sends the answer with what is written next, as RFC 8446, section 4.6.3, allows.
TEST_F(TlsStream, AKeyUpdateIsAnswered) {
    connect();
    for (int round = 0; round != 3; ++round) {
        ASSERT_EQ(SSL_key_update(handle_of(*client), SSL_KEY_UPDATE_REQUESTED), 1);
        EXPECT_TRUE(run(write_text(*client, "new keys")).has_value());
        EXPECT_EQ(run(read_text(*server, 8)), "new keys");
        const std::size_t before = to_client->sent;
        EXPECT_TRUE(run(write_text(*server, "answer")).has_value());
        EXPECT_GE(to_client->sent, before + 2 * (5 + 1 + 16)) << "a record with the new keys, too";
        EXPECT_EQ(run(read_text(*client, 6)), "answer");
    }
}

// A client of TLS 1.2 that begins a second handshake, to which the server answers with a warning.
class Renegotiation : public TlsStream {
protected:
    void connect_and_begin(std::size_t capacity = channel<std::string>::unbounded) {
        connect({.version_max = tls_version::v1_2}, {}, capacity);
        ASSERT_EQ(client->peer().version, "TLSv1.2");
        // OpenSSL lets neither end begin one, unless it is allowed to.
        EXPECT_EQ(SSL_renegotiate(handle_of(*client)), 0);
        EXPECT_EQ(SSL_renegotiate(handle_of(*server)), 0);
        SSL_clear_options(handle_of(*client), SSL_OP_NO_RENEGOTIATION);
        ASSERT_EQ(SSL_renegotiate(handle_of(*client)), 1);
    }

    static int alerts_in(std::string_view records) {
        constexpr std::size_t head_size = 5;
        int alerts = 0;
        while (records.size() >= head_size) {
            if (records[0] == 21) ++alerts;
            const auto high = static_cast<unsigned char>(records[3]);
            const auto low = static_cast<unsigned char>(records[4]);
            records.remove_prefix(head_size + std::size_t{high} * 256 + low);
        }
        EXPECT_TRUE(records.empty());
        return alerts;
    }
};

TEST_F(Renegotiation, IsRefused) {
    connect_and_begin();
    auto write = start(write_text(*client, "after it"));
    auto read = start(read_text(*server, 8));
    settle();
    ASSERT_TRUE(write.ended());
    const done written = write.get();
    ASSERT_FALSE(written.has_value());  // the client does not go on without it
    EXPECT_EQ(written.error().message(), "no renegotiation");
    ASSERT_TRUE(read.ended());
    EXPECT_EQ(read.get().error(), tls_errc::alert);
}

// The warning stands behind a write that waits for the peer. The read goes on, and the writer sends
// the warning when it can.
TEST_F(Renegotiation, IsRefusedBehindAWrite) {
    connect_and_begin(4);
    auto write = start(write_text(*server, much(1000000)));
    settle();
    ASSERT_FALSE(write.ended());
    ASSERT_LT(SSL_do_handshake(handle_of(*client)), 0);
    const auto hello = output_of(*client).bytes();
    ASSERT_GT(hello.size(), 100U);
    std::string sent{reinterpret_cast<const char*>(hello.data()), hello.size()};
    to_server->sent += sent.size();
    EXPECT_TRUE(to_server->pieces.try_send(std::move(sent)).has_value());
    auto read = start(read_text(*server, 8));
    settle();
    EXPECT_EQ(to_server->delivered, to_server->sent) << "the server reads";
    std::string raw;
    for (;;) {
        const auto piece = to_client->pieces.try_receive();
        if (!piece) break;
        raw += *piece;
        settle();
    }
    EXPECT_TRUE(write.ended());
    EXPECT_GT(raw.size(), 1000000U);
    EXPECT_EQ(alerts_in(raw), 1);
    EXPECT_FALSE(read.ended());
    read.request_stop();
    settle();
    EXPECT_TRUE(read.ended());
}

// With too many answers that cannot be sent, a read waits until they are.
TEST_F(TlsStream, AnswersTakeBoundedMemory) {
    for (const bool too_many : {false, true}) {
        connect({}, {}, 4);
        auto write = start(write_text(*server, much(1000000)));
        settle();
        ASSERT_FALSE(write.ended());
        const std::string answers(too_many ? detail::tls_engine::output_limit : 100, '.');
        output_of(*server).append(test::as_bytes_of(answers));
        EXPECT_TRUE(run(write_text(*client, "go on")).has_value());
        auto read = start(read_text(*server, 5));
        settle();
        EXPECT_EQ(read.ended(), !too_many);
        read.request_stop();
        write.request_stop();
        settle();
        EXPECT_TRUE(read.ended() && write.ended());
        if (too_many) {
            EXPECT_EQ(read.get().error(), std::errc::operation_canceled);
            EXPECT_EQ(run(read_text(*server, 5)), "go on");  // nothing is lost
        } else {
            EXPECT_EQ(read.get(), "go on");
        }
    }
}

}  // namespace
}  // namespace fairlead::io::stream_tests
