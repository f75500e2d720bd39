// Bytes go through a relay exactly once and in order, and each end is passed on.
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/networks.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/io/relay.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/io/unix.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace fairlead::io::relay_tests {
namespace {

using namespace std::chrono_literals;
using test::must;

using result = std::expected<relayed, unfinished_relay>;

std::string pattern(std::size_t size, unsigned seed = 7) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) {
        text[i] = static_cast<char>('a' + (i * seed + i / 9) % 26);
    }
    return text;
}

struct both_ends {
    tcp_stream near;
    tcp_stream far;
};

task<both_ends> connected() {
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    auto near = must(co_await tcp_stream::connect(listener.local_address().value()));
    auto far = must(co_await listener.accept());
    co_return both_ends{std::move(near), std::move(far)};
}

// A client, a server, and the proxy between them.
struct chain {
    tcp_stream client;
    tcp_stream near;  // of the proxy, to the client
    tcp_stream far;   // to the server
    tcp_stream server;
};

task<chain> made_chain() {
    both_ends first = co_await connected();
    both_ends second = co_await connected();
    co_return chain{std::move(first.near), std::move(first.far), std::move(second.near),
                    std::move(second.far)};
}

task<result> relays(chain& all, relay_options options = {}) {
    co_return co_await relay(all.near, all.far, options);
}

task<std::string> reads_to_the_end(socket_stream& from, std::size_t at_once = 50'000) {
    std::string seen;
    std::string buffer(at_once, '\0');
    for (;;) {
        const auto count = co_await from.read_some(std::as_writable_bytes(std::span{buffer}));
        if (!count || *count == 0) co_return seen;
        seen.append(buffer, 0, *count);
    }
}

task<bool> sends_and_ends(socket_stream& to, std::string text) {
    const auto sent = co_await to.write_all(test::bytes_of(text));
    co_return sent.has_value() && to.shutdown_send().has_value();
}

template <class Home>
class relay_test : public testing::Test {
protected:
    Home on;
};

TYPED_TEST_SUITE(relay_test, test::networks);

// --- well ----------------------------------------------------------------------------------------

// The server answers when it has got the end, and the end of a side leaves the other one open.
task<> exchanges_in_turn(std::size_t size, bool is_server_first) {
    chain all = co_await made_chain();
    socket_stream& first = is_server_first ? all.server : all.client;
    socket_stream& second = is_server_first ? all.client : all.server;
    auto relaying = spawn(co_await current_executor(), relays(all));
    auto sending = spawn(co_await current_executor(), sends_and_ends(first, pattern(size)));
    EXPECT_EQ(co_await reads_to_the_end(second), pattern(size));
    EXPECT_TRUE(co_await sending);
    EXPECT_FALSE(relaying.ended());
    auto answering =
        spawn(co_await current_executor(), sends_and_ends(second, pattern(2 * size, 11)));
    EXPECT_EQ(co_await reads_to_the_end(first), pattern(2 * size, 11));
    EXPECT_TRUE(co_await answering);
    const result ended = co_await relaying;
    EXPECT_TRUE(ended);
    const relayed moved = ended.value_or(relayed{});
    EXPECT_EQ(moved.from_first, is_server_first ? 2 * size : size);
    EXPECT_EQ(moved.from_second, is_server_first ? size : 2 * size);
    EXPECT_TRUE(all.near.is_open());
    EXPECT_TRUE(all.far.is_open());
}

TYPED_TEST(relay_test, keeps_a_half_that_has_ended) {
    for (const std::size_t size : {0UL, 1UL, 1000UL, 16'384UL, 70'000UL}) {
        for (const bool is_server_first : {false, true}) {
            this->on.run(exchanges_in_turn(size, is_server_first));
        }
    }
}

task<bool> sends_in_pieces(socket_stream& to, std::string text, unsigned seed) {
    std::mt19937 random{seed};
    for (std::size_t at = 0; at != text.size();) {
        const std::size_t most = random() % 3 == 0 ? 60'000 : 3'000;
        const std::size_t size = std::min<std::size_t>(1 + random() % most, text.size() - at);
        if (!co_await to.write_all(test::bytes_of(text).subspan(at, size))) co_return false;
        at += size;
        if (random() % 4 == 0) co_await yield();
    }
    co_return to.shutdown_send().has_value();
}

task<> exchanges_at_once(unsigned seed) {
    chain all = co_await made_chain();
    const std::string question = pattern(120'000 + seed, 7);
    const std::string answer = pattern(150'000 + seed, 11);
    auto relaying = spawn(co_await current_executor(), relays(all));
    auto asking = spawn(co_await current_executor(), sends_in_pieces(all.client, question, seed));
    auto answering =
        spawn(co_await current_executor(), sends_in_pieces(all.server, answer, seed + 1));
    auto reading = spawn(co_await current_executor(), reads_to_the_end(all.server, 7'000));
    EXPECT_EQ(co_await reads_to_the_end(all.client, 90'000), answer);
    EXPECT_EQ(co_await reading, question);
    EXPECT_TRUE(co_await asking);
    EXPECT_TRUE(co_await answering);
    const result ended = co_await relaying;
    EXPECT_TRUE(ended);
    EXPECT_EQ(ended.value_or(relayed{}).from_first, question.size());
    EXPECT_EQ(ended.value_or(relayed{}).from_second, answer.size());
}

TYPED_TEST(relay_test, moves_both_ways_at_once) {
    for (unsigned seed = 0; seed != 5; ++seed) this->on.run(exchanges_at_once(seed));
}

// A server that does not read slows down the client, and gets all in the end.
task<> holds_back() {
    chain all = co_await made_chain();
    auto relaying = spawn(co_await current_executor(), relays(all));
    const std::string text = pattern(64'000);
    std::string sent;
    constexpr std::size_t too_much = 64UL << 20;
    while (sent.size() < too_much) {
        const auto count =
            co_await all.client.write_some(test::bytes_of(text), clock::now() + 200ms);
        if (!count) break;
        sent.append(text, 0, *count);
    }
    EXPECT_LT(sent.size(), too_much);
    EXPECT_TRUE(all.client.shutdown_send());
    EXPECT_TRUE(all.server.shutdown_send());
    EXPECT_TRUE(co_await reads_to_the_end(all.server) == sent);
    const result ended = co_await relaying;
    EXPECT_EQ(ended.value_or(relayed{}).from_first, sent.size());
}

TYPED_TEST(relay_test, a_slow_reader_holds_the_writer_back) { this->on.run(holds_back()); }

// --- ended early ---------------------------------------------------------------------------------

// Until the buffers are full.
task<> fills(socket_stream& to) {
    const std::string text = pattern(64'000);
    for (;;) {
        const auto sent = co_await to.write_some(test::bytes_of(text), immediately);
        if (!sent) co_return;
    }
}

// The relay counts what was written: the server gets that, and no more.
task<> ends_early(chain& all, result ended, std::errc right, std::size_t before) {
    EXPECT_FALSE(ended);
    if (ended) co_return;
    EXPECT_EQ(ended.error().error, right);
    EXPECT_EQ(ended.error().moved.from_second, 0U);
    all.far.close();
    const std::string rest = co_await reads_to_the_end(all.server);
    EXPECT_EQ(before + rest.size(), ended.error().moved.from_first);
}

task<> is_late(bool is_full) {
    chain all = co_await made_chain();
    const auto sent = co_await all.client.write_some(test::bytes_of("hello"));
    EXPECT_TRUE(sent);
    if (is_full) co_await fills(all.client);  // so that it waits to write, too
    const relay_options options{.deadline = clock::now() + 20ms};
    const result ended = co_await relays(all, options);
    EXPECT_GE(clock::now(), options.deadline);
    co_await ends_early(all, ended, std::errc::timed_out, 0);
}

TYPED_TEST(relay_test, ends_at_its_deadline) {
    this->on.run(is_late(false));
    this->on.run(is_late(true));
}

task<> is_stopped(bool is_full) {
    chain all = co_await made_chain();
    auto relaying = spawn(co_await current_executor(), relays(all));
    if (is_full) {  // so that it waits to write, too
        co_await fills(all.client);
    } else {
        const auto sent = co_await all.client.write_all(test::bytes_of("hello"));
        EXPECT_TRUE(sent);
    }
    std::string got(5, '\0');
    const auto came = co_await all.server.read_exactly(std::as_writable_bytes(std::span{got}));
    EXPECT_TRUE(came);
    relaying.request_stop();
    const result ended = co_await relaying;
    co_await ends_early(all, ended, std::errc::operation_canceled, got.size());
}

TYPED_TEST(relay_test, ends_at_a_stop) {
    this->on.run(is_stopped(false));
    this->on.run(is_stopped(true));
}

task<> was_stopped_before() {
    chain all = co_await made_chain();
    auto relaying = spawn(co_await current_executor(), relays(all));
    relaying.request_stop();
    const result ended = co_await relaying;
    EXPECT_FALSE(ended);
    if (!ended) {
        EXPECT_EQ(ended.error().error, std::errc::operation_canceled);
    }
}

TYPED_TEST(relay_test, does_nothing_after_a_stop) { this->on.run(was_stopped_before()); }

task<> on_closed_streams() {
    chain all = co_await made_chain();
    all.near.close();
    const result ended = co_await relay(all.near, all.far);
    EXPECT_FALSE(ended);
    if (!ended) {
        EXPECT_EQ(ended.error().error, std::errc::bad_file_descriptor);
    }
}

TYPED_TEST(relay_test, a_closed_stream_is_an_error) { this->on.run(on_closed_streams()); }

// --- idle, in virtual time -----------------------------------------------------------------------

using relay_idle_test = relay_test<test::memory_home<false>>;

task<> falls_idle() {
    const scheduler& home = co_await current_scheduler();
    chain all = co_await made_chain();
    const time_point begin = home.now();
    const relay_options options{.idle = 10s};
    auto relaying = spawn(co_await current_executor(), relays(all, options));
    std::string got(1, '\0');
    for (int i = 0; i != 5; ++i) {  // a byte in either direction keeps both
        co_await sleep_for(9s);
        socket_stream& from = i % 2 == 0 ? all.client : all.server;
        socket_stream& to = i % 2 == 0 ? all.server : all.client;
        EXPECT_TRUE(co_await from.write_all(test::bytes_of("x")));
        EXPECT_TRUE(co_await to.read_exactly(std::as_writable_bytes(std::span{got})));
    }
    const result ended = co_await relaying;
    EXPECT_EQ(home.now() - begin, 55s);
    EXPECT_FALSE(ended);
    if (ended) co_return;
    EXPECT_EQ(ended.error().error, std::errc::timed_out);
    EXPECT_EQ(ended.error().moved.from_first, 3U);
    EXPECT_EQ(ended.error().moved.from_second, 2U);
}

TEST_F(relay_idle_test, a_relay_ends_when_no_byte_moves) { on.run(falls_idle()); }

task<> a_writer_falls_idle() {
    const scheduler& home = co_await current_scheduler();
    chain all = co_await made_chain();
    const time_point begin = home.now();
    const relay_options options{.deadline = begin + 1min, .idle = 10s};
    auto relaying = spawn(co_await current_executor(), relays(all, options));
    const std::string text = pattern(64'000);
    while (co_await all.client.write_some(test::bytes_of(text), home.now() + 1s)) {
    }
    const result ended = co_await relaying;
    EXPECT_EQ(home.now() - begin, 10s);
    EXPECT_FALSE(ended);
    if (!ended) {
        EXPECT_EQ(ended.error().error, std::errc::timed_out);
    }
}

TEST_F(relay_idle_test, a_peer_that_does_not_read_is_idle) { on.run(a_writer_falls_idle()); }

// --- resets --------------------------------------------------------------------------------------

// The kernel's sockets; the peers are plain sockets.
class relay_socket_test : public testing::Test {
protected:
    struct end {
        tcp_stream own;
        test::raw_socket peer;
    };
    [[nodiscard]] end made(int flags = SOCK_NONBLOCK) {
        const auto listener = test::raw_socket::listening(1);
        auto peer = test::raw_socket::connected(listener.local_address());
        os::unique_fd fd{::accept4(listener.fd(), nullptr, nullptr, flags | SOCK_CLOEXEC)};
        auto own = tcp_stream::adopt(epoll_driver::of(home), std::move(fd)).value();
        return {std::move(own), std::move(peer)};
    }
    result finish(join_handle<result>& handle) {
        while (!handle.ended()) home.run_until(never, 1);
        return handle.get();
    }
    static task<result> relays(socket_stream& first, socket_stream& second) {
        co_return co_await relay(first, second);
    }
    void settle() { home.run_until_idle(); }
    // So many bytes that `peer` gets while the relay runs.
    std::string received_by(const test::raw_socket& peer, std::size_t size,
                            std::size_t at_once = 50'000) {
        std::string seen;
        std::string piece(at_once, '\0');
        while (seen.size() != size) {
            settle();
            const std::size_t room = std::min(at_once, size - seen.size());
            const ssize_t count = ::recv(peer.fd(), piece.data(), room, MSG_DONTWAIT);
            if (count == 0) break;
            if (count > 0) seen.append(piece, 0, static_cast<std::size_t>(count));
            if (count < 0) home.run_until(clock::now() + 1ms, 1);
        }
        return seen;
    }

    const test::watchdog guard;
    scheduler home{test::with_epoll_on_caller()};
    end client = made();
    end server = made();
};

TEST_F(relay_socket_test, a_reset_of_either_side_ends_both) {
    for (const bool is_client : {true, false}) {
        client = made();
        server = made();
        auto relaying = spawn(home, relays(client.own, server.own));
        settle();
        client.peer.send("question");
        server.peer.send("answer");
        EXPECT_EQ(received_by(server.peer, 8), "question");
        EXPECT_EQ(received_by(client.peer, 6), "answer");
        (is_client ? client : server).peer.reset();
        const result ended = finish(relaying);
        ASSERT_FALSE(ended);
        EXPECT_EQ(ended.error().error, std::errc::connection_reset);
        EXPECT_EQ(ended.error().moved.from_first, 8U);
        EXPECT_EQ(ended.error().moved.from_second, 6U);
        end& left = is_client ? server : client;
        left.own.close();
        EXPECT_EQ(left.peer.receive(1), "");
    }
}

// A server answers, and breaks off without reading. The write to it fails first.
TEST_F(relay_socket_test, an_answer_before_a_reset_is_not_lost) {
    client.peer.send("a question that nobody reads");
    server.peer.send("no");
    server.peer.reset();
    auto relaying = spawn(home, relays(client.own, server.own));
    const result ended = finish(relaying);
    ASSERT_FALSE(ended);
    client.own.shutdown_send();
    EXPECT_EQ(client.peer.receive(10), "no");
    EXPECT_EQ(client.peer.receive(10), "");
    EXPECT_EQ(ended.error().moved.from_second, 2U);
}

// --- what the system moves -----------------------------------------------------------------------

// A read skips urgent data, and a splice stops at them.
TEST_F(relay_socket_test, urgent_data_do_not_stop_it) {
    const std::string text = pattern(100'000);
    auto relaying = spawn(home, relays(client.own, server.own));
    client.peer.send(text);  // much at once: by splice
    EXPECT_TRUE(received_by(server.peer, text.size()) == text);
    ASSERT_EQ(::send(client.peer.fd(), "!", 1, MSG_OOB), 1);
    client.peer.send(text);
    EXPECT_TRUE(received_by(server.peer, text.size()) == text);
    client.peer.shutdown_send();
    server.peer.shutdown_send();
    const result ended = finish(relaying);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->from_first, 2 * text.size());
}

// Calls that splice or send a file would wait in the system, and keep the only worker.
TEST_F(relay_socket_test, blocking_sockets_do_not_keep_the_worker) {
    client = made(0);
    server = made(0);
    const std::string text = pattern(2'000'000);
    auto relaying = spawn(home, relays(client.own, server.own));
    client.peer.set_buffers(10'000);
    std::string seen;
    std::size_t sent = 0;
    while (seen.size() != text.size()) {
        if (sent != text.size()) {
            const ssize_t count = ::send(client.peer.fd(), text.data() + sent, text.size() - sent,
                                         MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count > 0) sent += static_cast<std::size_t>(count);
        }
        settle();
        std::string piece(5'000, '\0');
        const ssize_t count = ::recv(server.peer.fd(), piece.data(), piece.size(), MSG_DONTWAIT);
        if (count > 0) seen.append(piece, 0, static_cast<std::size_t>(count));
    }
    EXPECT_TRUE(seen == text);
    client.peer.close();
    server.peer.close();
    ASSERT_TRUE(finish(relaying));
}

task<std::expected<std::uint64_t, std::error_code>> sends_file(socket_stream& to,
                                                               std::string path) {
    file from = must(co_await file::open(std::move(path)));
    const auto sent = co_await to.send_file(from);
    co_return sent;
}

TEST_F(relay_socket_test, a_file_does_not_keep_the_worker_either) {
    const test::folder files;
    const std::string text = pattern(20'000'000);
    files.put("one", text);
    server = made(0);
    auto sending = spawn(home, sends_file(server.own, files.path_of("one")));
    EXPECT_TRUE(received_by(server.peer, text.size()) == text);
    while (!sending.ended()) home.run_until(never, 1);
    EXPECT_EQ(sending.get(), text.size());
}

TEST_F(relay_socket_test, unix_sockets_and_tcp_may_be_the_two_sides) {
    auto ends = unix_stream::pair(epoll_driver::of(home)).value();
    const std::string text = pattern(300'000);
    auto relaying = spawn(home, relays(ends.second, server.own));
    auto sending = spawn(home, sends_and_ends(ends.first, text));
    server.peer.send("answer");
    server.peer.shutdown_send();
    EXPECT_TRUE(received_by(server.peer, text.size()) == text);
    const result ended = finish(relaying);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->from_first, text.size());
    EXPECT_EQ(ended->from_second, 6U);
    while (!sending.ended()) home.run_until(never, 1);
    EXPECT_TRUE(sending.get());
}

// The streams can be read and written afterwards: the edges that splices have used up are not
// missed.
task<std::string> relays_and_reads_on(chain& all) {
    const result ended = co_await relay(all.near, all.far);
    EXPECT_TRUE(ended);
    co_return co_await reads_to_the_end(all.near);
}

TEST(relay_afterwards_test, a_read_sees_the_end) {
    test::kernel_home on;
    static constexpr auto all_of_it = []() -> task<> {
        chain all = co_await made_chain();
        auto relaying = spawn(co_await current_executor(), relays_and_reads_on(all));
        auto sending =
            spawn(co_await current_executor(), sends_and_ends(all.client, pattern(200'000)));
        EXPECT_EQ(co_await reads_to_the_end(all.server), pattern(200'000));
        EXPECT_TRUE(all.server.shutdown_send());
        EXPECT_EQ(co_await relaying, "");
        EXPECT_TRUE(co_await sending);
    };
    on.run(all_of_it());
}

// --- any streams ---------------------------------------------------------------------------------

// No more than a byte_stream has to have.
class plain_stream {
public:
    explicit plain_stream(tcp_stream below) : below_{std::move(below)} {}
    auto read_some(std::span<std::byte> buffer, time_point deadline) {
        return below_.read_some(buffer, deadline);
    }
    auto write_all(std::span<const std::byte> data, time_point deadline) {
        return below_.write_all(data, deadline);
    }
    auto write_all(std::span<const std::span<const std::byte>> parts, time_point deadline) {
        return below_.write_all(parts, deadline);
    }
    void close() { below_.close(); }
    [[nodiscard]] bool is_open() const { return below_.is_open(); }

private:
    tcp_stream below_;
};

task<result> relays_plain(plain_stream& near, tcp_stream& far) {
    co_return co_await relay(near, far);
}

task<> copies_between_any() {
    chain all = co_await made_chain();
    plain_stream near{std::move(all.near)};
    auto relaying = spawn(co_await current_executor(), relays_plain(near, all.far));
    auto sending = spawn(co_await current_executor(), sends_and_ends(all.client, pattern(100'000)));
    EXPECT_EQ(co_await reads_to_the_end(all.server), pattern(100'000));
    EXPECT_TRUE(co_await sends_and_ends(all.server, "answer"));
    const result ended = co_await relaying;
    EXPECT_TRUE(ended);
    EXPECT_EQ(ended.value_or(relayed{}).from_first, 100'000U);
    EXPECT_EQ(ended.value_or(relayed{}).from_second, 6U);
    near.close();  // it passes no end on
    EXPECT_EQ(co_await reads_to_the_end(all.client), "answer");
    EXPECT_TRUE(co_await sending);
}

TYPED_TEST(relay_test, copies_between_any_streams) { this->on.run(copies_between_any()); }

task<> a_side_of_any_fails() {
    chain all = co_await made_chain();
    plain_stream near{std::move(all.near)};
    auto relaying = spawn(co_await current_executor(), relays_plain(near, all.far));
    EXPECT_TRUE(co_await all.client.write_all(test::bytes_of("hello")));
    std::string got(5, '\0');
    EXPECT_TRUE(co_await all.server.read_exactly(std::as_writable_bytes(std::span{got})));
    test::memory_network::of(co_await current_scheduler()).reset_all();
    const result ended = co_await relaying;
    EXPECT_FALSE(ended);
    if (ended) co_return;
    EXPECT_EQ(ended.error().error, std::errc::connection_reset);
    EXPECT_EQ(ended.error().moved.from_first, 5U);
}

TEST_F(relay_idle_test, a_failure_of_any_stream_ends_both_directions) {
    on.run(a_side_of_any_fails());
}

}  // namespace
}  // namespace fairlead::io::relay_tests
