// What `io::byte_stream` promises of writes, for each stream and each adaptor of streams, on each
// network that carries it. Several buffers are as one.
#include "support/networks.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/http/transport.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/pipe_stream.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/io/unix.hpp>
#ifdef FAIRLEAD_WITH_REDIS
#include <fairlead/redis/connector.hpp>
#endif
#ifdef FAIRLEAD_WITH_TLS
#include "tls/zoo.hpp"

#include <fairlead/tls/tls_stream.hpp>
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::byte_stream_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;

constexpr std::size_t part_size = std::size_t{256} << 10;

using part = std::span<const std::byte>;
using part_list = std::span<const part>;

// What is written to `near` is read from `far`.
template <class Near, class Far = Near>
struct ends {
    Near near;
    Far far;
};

// --- the streams ---------------------------------------------------------------------------------

// The listener is closed afterwards.
task<ends<io::tcp_stream>> connect_by_tcp() {
    scheduler& home = co_await current_scheduler();
    auto listener = io::tcp_listener::bind(home, io::address::loopback(0)).value();
    const io::address where = listener.local_address().value();
    auto near = (co_await io::tcp_stream::connect(where)).value();
    auto far = (co_await listener.accept()).value();
    co_return ends<io::tcp_stream>{std::move(near), std::move(far)};
}

task<ends<io::unix_stream>> connect_by_name() {
    scheduler& home = co_await current_scheduler();
    auto listener = io::unix_listener::bind(home, {}).value();
    const io::unix_address where = listener.local_address().value();
    auto near = (co_await io::unix_stream::connect(where)).value();
    auto far = (co_await listener.accept()).value();
    co_return ends<io::unix_stream>{std::move(near), std::move(far)};
}

template <class Home>
struct tcp {
    using home = Home;
    static task<ends<io::tcp_stream>> make() { return connect_by_tcp(); }
};

template <class Home>
struct unix_socket {
    using home = Home;
    static task<ends<io::unix_stream>> make() { return connect_by_name(); }
};

struct pipe {
    using home = test::kernel_home;
    static task<ends<io::pipe_stream>> make() {
        scheduler& on = co_await current_scheduler();
        auto both = io::make_pipe(io::epoll_driver::of(on)).value();
        co_return ends<io::pipe_stream>{std::move(both.writer), std::move(both.reader)};
    }
};

// A transport by itself is no byte_stream, as its type is not known.
class transport_stream {
public:
    explicit transport_stream(std::unique_ptr<http::transport> of) : of_{std::move(of)} {}
    auto read_some(std::span<std::byte> buffer, time_point deadline) {
        return of_->read_some(buffer, deadline);
    }
    auto write_all(part data, time_point deadline) { return of_->write_all(data, deadline); }
    auto write_all(part_list parts, time_point deadline) { return of_->write_all(parts, deadline); }
    void close() { of_->close(); }
    [[nodiscard]] bool is_open() const { return of_ != nullptr; }

private:
    std::unique_ptr<http::transport> of_;
};

template <class Home>
struct transport {
    using home = Home;
    static task<ends<transport_stream>> make() {
        auto both = co_await connect_by_tcp();
        transport_stream near{http::make_transport(std::move(both.near))};
        transport_stream far{http::make_transport(std::move(both.far))};
        co_return ends<transport_stream>{std::move(near), std::move(far)};
    }
};

#ifdef FAIRLEAD_WITH_REDIS
template <class Home>
struct any {
    using home = Home;
    static task<ends<redis::any_stream>> make() {
        auto both = co_await connect_by_tcp();
        redis::any_stream near{std::move(both.near)};
        redis::any_stream far{std::move(both.far)};
        co_return ends<redis::any_stream>{std::move(near), std::move(far)};
    }
};
#endif

#ifdef FAIRLEAD_WITH_TLS
task<ends<io::tls_stream<>>> connect_by_tls() {
    using stream = io::tls_stream<>;
    const test::harbour harbour;
    auto both = co_await connect_by_tcp();
    auto accepts = stream::accept(std::move(both.far), harbour.server());
    auto accepting = spawn(co_await current_executor(), std::move(accepts));
    auto connects = stream::connect(std::move(both.near), harbour.client(), "localhost");
    auto near = co_await std::move(connects);
    auto far = co_await accepting;
    co_return ends<stream>{std::move(near.value()), std::move(far.value())};
}

template <class Home>
struct tls {
    using home = Home;
    static task<ends<io::tls_stream<>>> make() { return connect_by_tls(); }
};
#endif

// --- the suite -----------------------------------------------------------------------------------

template <class Kind>
class byte_streams : public testing::Test {
protected:
    typename Kind::home on;
};

using kernel = test::kernel_home;
using memory = test::memory_home<false>;
using rough_memory = test::memory_home<true>;
using kinds = testing::Types<
#ifdef FAIRLEAD_WITH_REDIS
    any<kernel>, any<rough_memory>,
#endif
#ifdef FAIRLEAD_WITH_TLS
    tls<kernel>, tls<memory>, tls<rough_memory>,
#endif
    tcp<kernel>, tcp<memory>, tcp<rough_memory>, unix_socket<kernel>, unix_socket<memory>,
    unix_socket<rough_memory>, pipe, transport<kernel>, transport<rough_memory>>;
TYPED_TEST_SUITE(byte_streams, kinds);

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 9) % 26);
    return text;
}

using text_or_error = std::expected<std::string, std::error_code>;

// Up to the end, or `size` bytes.
template <io::byte_stream Stream>
task<text_or_error> reads(Stream& from, std::size_t size, time_point deadline = never) {
    std::string text;
    std::vector<std::byte> room(5000);
    while (text.size() != size) {
        const std::span<std::byte> wanted =
            std::span{room}.first(std::min(room.size(), size - text.size()));
        const auto count = co_await from.read_some(wanted, deadline);
        if (!count) co_return std::unexpected{count.error()};
        if (*count == 0) break;
        text.append(reinterpret_cast<const char*>(room.data()), *count);
    }
    co_return text;
}

template <io::byte_stream Stream>
task<std::error_code> writes(Stream& to, part_list parts, time_point deadline = never) {
    const auto done = co_await to.write_all(parts, deadline);
    co_return done ? std::error_code{} : done.error();
}

template <io::byte_stream Stream>
task<std::error_code> writes_one(Stream& to, part data, time_point deadline = never) {
    const auto done = co_await to.write_all(data, deadline);
    co_return done ? std::error_code{} : done.error();
}

// More than one call of the system takes; some empty, one larger than a network in memory holds.
template <class Kind>
task<> several_buffers_arrive_as_one() {
    auto both = co_await Kind::make();
    std::vector<std::string> texts;
    for (std::size_t i = 0; i != 40; ++i) texts.push_back(pattern(i % 5 == 0 ? 0 : i * 97));
    texts.push_back(pattern(100'000));
    texts.insert(texts.end(), {"", "last", ""});
    std::string all;
    std::vector<part> parts;
    for (const std::string& each : texts) {
        parts.push_back(bytes_of(each));
        all += each;
    }
    for (int round = 0; round != 2; ++round) {
        auto writing = spawn(co_await current_executor(), writes(both.near, parts));
        const text_or_error seen = co_await reads(both.far, all.size());
        EXPECT_TRUE(seen == all);
        EXPECT_EQ(co_await writing, std::error_code{});
    }
}
TYPED_TEST(byte_streams, several_buffers_arrive_as_one) {
    this->on.run(several_buffers_arrive_as_one<TypeParam>());
}

template <class Kind>
task<> one_and_several_buffers_keep_their_order() {
    auto both = co_await Kind::make();
    std::string all;
    for (std::size_t i = 0; i != 20; ++i) {
        const std::string head = pattern(i + 1);
        const std::string body = pattern(i * 40);
        const std::array<part, 2> answer{bytes_of(head), bytes_of(body)};
        EXPECT_EQ(co_await writes_one(both.near, answer[0]), std::error_code{});
        EXPECT_EQ(co_await writes(both.near, answer), std::error_code{});
        const std::string expected = head + head + body;
        EXPECT_EQ(co_await reads(both.far, expected.size()), expected);
    }
}
TYPED_TEST(byte_streams, one_and_several_buffers_keep_their_order) {
    this->on.run(one_and_several_buffers_keep_their_order<TypeParam>());
}

template <class Kind>
task<> nothing_is_written_for_empty_buffers() {
    auto both = co_await Kind::make();
    const std::array<part, 3> empty{};
    EXPECT_EQ(co_await writes(both.near, {}), std::error_code{});
    EXPECT_EQ(co_await writes(both.near, empty), std::error_code{});
    EXPECT_EQ(co_await writes_one(both.near, {}), std::error_code{});
    const text_or_error seen = co_await reads(both.far, 1, clock::now() + 2ms);
    EXPECT_FALSE(seen);
    if (!seen) {
        EXPECT_EQ(seen.error(), std::errc::timed_out);
    }
    EXPECT_EQ(co_await writes_one(both.near, bytes_of("x")), std::error_code{});
    EXPECT_EQ(co_await reads(both.far, 1), "x");
}
TYPED_TEST(byte_streams, nothing_is_written_for_empty_buffers) {
    this->on.run(nothing_is_written_for_empty_buffers<TypeParam>());
}

// Parts of one text: more than the network holds, so a write waits for a reader.
std::vector<part> too_many_of(const std::string& text) {
    return std::vector<part>(64, bytes_of(text));
}

template <class Kind>
task<> a_write_of_several_ends_at_its_deadline() {
    auto both = co_await Kind::make();
    const std::string text = pattern(part_size);
    const std::vector<part> parts = too_many_of(text);
    const time_point deadline = clock::now() + 20ms;
    EXPECT_EQ(co_await writes(both.near, parts, deadline), std::errc::timed_out);
    EXPECT_GE(clock::now(), deadline);
}
TYPED_TEST(byte_streams, a_write_of_several_ends_at_its_deadline) {
    this->on.run(a_write_of_several_ends_at_its_deadline<TypeParam>());
}

template <class Kind>
task<> a_write_of_several_ends_at_a_stop() {
    auto both = co_await Kind::make();
    const std::string text = pattern(part_size);
    const std::vector<part> parts = too_many_of(text);
    auto writing = spawn(co_await current_executor(), writes(both.near, parts));
    EXPECT_EQ(co_await reads(both.far, 500), text.substr(0, 500));
    co_await sleep_for(20ms);  // more is on its way
    writing.request_stop();
    EXPECT_EQ(co_await writing, std::errc::operation_canceled);
    EXPECT_EQ(co_await reads(both.far, 100), text.substr(500, 100));
}
TYPED_TEST(byte_streams, a_write_of_several_ends_at_a_stop) {
    this->on.run(a_write_of_several_ends_at_a_stop<TypeParam>());
}

template <class Kind>
task<> a_task_that_was_stopped_before_writes_nothing() {
    auto both = co_await Kind::make();
    const std::array<part, 2> parts{bytes_of("not "), bytes_of("sent")};
    auto writing = spawn(co_await current_executor(), writes(both.near, parts));
    writing.request_stop();
    EXPECT_EQ(co_await writing, std::errc::operation_canceled);
    EXPECT_EQ(co_await writes_one(both.near, bytes_of("sent")), std::error_code{});
    EXPECT_EQ(co_await reads(both.far, 4), "sent");
}
TYPED_TEST(byte_streams, a_task_that_was_stopped_before_writes_nothing) {
    this->on.run(a_task_that_was_stopped_before_writes_nothing<TypeParam>());
}

template <class Kind>
task<> a_peer_that_is_gone_is_an_error() {
    auto both = co_await Kind::make();
    both.far.close();
    const std::array<part, 2> parts{bytes_of("head"), bytes_of("body")};
    std::error_code why;
    const time_point limit = clock::now() + 20s;
    while (!why && clock::now() < limit) {
        why = co_await writes(both.near, parts, limit);
        co_await sleep_for(1ms);
    }
    EXPECT_TRUE(why == std::errc::broken_pipe || why == std::errc::connection_reset)
        << why.message();
}
TYPED_TEST(byte_streams, a_peer_that_is_gone_is_an_error) {
    this->on.run(a_peer_that_is_gone_is_an_error<TypeParam>());
}

}  // namespace
}  // namespace fairlead::byte_stream_tests
