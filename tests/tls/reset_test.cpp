// The reset of a TLS stream: the peer reads a failure of the connection, and no close_notify.
#include "support/networks.hpp"
#include "tls/zoo.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/tls/tls_stream.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::io::reset_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using stream = tls_stream<>;

struct both_ends {
    stream near;
    stream far;
};

task<both_ends> connected(const test::harbour& harbour) {
    scheduler& home = co_await current_scheduler();
    auto listener = tcp_listener::bind(home, address::loopback(0)).value();
    const address where = listener.local_address().value();
    auto below = (co_await tcp_stream::connect(where)).value();
    auto far_below = (co_await listener.accept()).value();
    auto accepts = stream::accept(std::move(far_below), harbour.server());
    auto accepting = spawn(co_await current_executor(), std::move(accepts));
    auto connects = stream::connect(std::move(below), harbour.client(), "localhost");
    auto near = co_await std::move(connects);
    auto far = co_await accepting;
    co_return both_ends{std::move(near.value()), std::move(far.value())};
}

using text_or_error = std::expected<std::string, std::error_code>;

task<text_or_error> reads(stream& from) {
    std::array<std::byte, 100> room;
    const auto count = co_await from.read_some(room, clock::now() + 20s);
    if (!count) co_return std::unexpected{count.error()};
    co_return std::string{reinterpret_cast<const char*>(room.data()), *count};
}

task<std::error_code> writes(stream& to, std::string_view text) {
    const auto done = co_await to.write_all(bytes_of(text), clock::now() + 20s);
    co_return done ? std::error_code{} : done.error();
}

// Both tickets of TLS 1.3 have come, so the next bytes below are of what follows.
task<> say_hello(both_ends& ends) {
    EXPECT_EQ(co_await writes(ends.far, "hello"), std::error_code{});
    EXPECT_EQ(co_await reads(ends.near), "hello");
    EXPECT_EQ(co_await writes(ends.near, "hello"), std::error_code{});
    EXPECT_EQ(co_await reads(ends.far), "hello");
}

template <class Home>
class TlsReset : public testing::Test {
protected:
    const test::harbour harbour;
    Home on;
};
TYPED_TEST_SUITE(TlsReset, test::networks);

task<> a_peer_reads_a_reset(const test::harbour& harbour) {
    both_ends ends = co_await connected(harbour);
    co_await say_hello(ends);
    auto waits = spawn(co_await current_executor(), reads(ends.far));
    co_await sleep_for(5ms);
    EXPECT_FALSE(waits.ended());
    ends.near.reset();
    EXPECT_FALSE(ends.near.is_open());
    const text_or_error seen = co_await waits;
    EXPECT_FALSE(seen);
    if (!seen) {
        EXPECT_EQ(seen.error(), std::errc::connection_reset) << seen.error().message();
    }
    const std::error_code after = co_await writes(ends.far, "late");
    EXPECT_TRUE(after) << "nothing can be sent to it";
}
TYPED_TEST(TlsReset, APeerReadsAReset) { this->on.run(a_peer_reads_a_reset(this->harbour)); }

// An end that is not a reset reads as what an attacker could have cut off.
task<> a_close_is_no_reset(const test::harbour& harbour) {
    both_ends ends = co_await connected(harbour);
    co_await say_hello(ends);
    ends.near.close();
    const text_or_error seen = co_await reads(ends.far);
    EXPECT_FALSE(seen);
    if (!seen) {
        EXPECT_EQ(seen.error(), tls_errc::truncated) << seen.error().message();
    }
}
TYPED_TEST(TlsReset, ACloseIsNone) { this->on.run(a_close_is_no_reset(this->harbour)); }

// What the stream below the peer gets: no byte, so no close_notify, and a reset.
TEST(TlsResetOnKernel, SendsNothing) {
    const test::harbour harbour;
    test::kernel_home on;
    const auto resets = [&]() -> task<> {
        both_ends ends = co_await connected(harbour);
        co_await say_hello(ends);
        const int far = ends.far.below().native_handle();
        ends.near.reset();
        std::byte byte{};
        const ssize_t count = ::recv(far, &byte, 1, MSG_DONTWAIT);
        EXPECT_EQ(count, -1);
        EXPECT_EQ(errno, ECONNRESET);
    };
    on.run(resets());
}

std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return std::distance(begin(all), end(all));
}

TEST(TlsResetOnKernel, ReleasesTheDescriptorAtOnce) {
    const test::harbour harbour;
    test::kernel_home on;
    const auto resets = [&]() -> task<> {
        const std::ptrdiff_t before = open_descriptors();
        {
            both_ends ends = co_await connected(harbour);
            co_await say_hello(ends);
            EXPECT_EQ(open_descriptors(), before + 2);
            const int own = ends.near.below().native_handle();
            EXPECT_GE(own, 0);
            ends.near.reset();
            EXPECT_EQ(open_descriptors(), before + 1);
            EXPECT_EQ(::fcntl(own, F_GETFD), -1);
            EXPECT_EQ(errno, EBADF);
            ends.near.reset();  // once more does nothing
            ends.near.close();
            EXPECT_EQ(open_descriptors(), before + 1);
            ends.far.reset();
        }
        EXPECT_EQ(open_descriptors(), before);
    };
    on.run(resets());
}

}  // namespace
}  // namespace fairlead::io::reset_tests
