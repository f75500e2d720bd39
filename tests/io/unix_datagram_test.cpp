// Datagrams by Unix sockets.
#include "io/datagrams.hpp"

#include <fairlead/io/unix_datagram.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::io::unix_datagram_tests {
namespace {

using namespace std::chrono_literals;

// --- Unix ----------------------------------------------------------------------------------------

class unix_datagram_test : public datagram_test {
protected:
    static unix_address a_name() {
        static int count = 0;
        return *unix_address::abstract("fairlead-datagrams-" + std::to_string(::getpid()) + "-" +
                                       std::to_string(count++));
    }
    std::pair<unix_datagram, unix_datagram> ends =
        unix_datagram::pair(epoll_driver::of(on.home())).value();
};

TEST_F(unix_datagram_test, arrive_whole_and_in_order) {
    const std::string long_text = pattern(100'000);
    auto sending = start(sends(ends.first, long_text, std::nullopt));
    EXPECT_TRUE(receive(ends.second, 200'000) == long_text);
    EXPECT_EQ(finish(sending), std::error_code{});
    EXPECT_EQ(send(ends.second, "a"), std::error_code{});
    EXPECT_EQ(send(ends.second, ""), std::error_code{});
    EXPECT_EQ(receive(ends.first), "a");
    EXPECT_EQ(receive(ends.first), "");
    EXPECT_EQ(send(ends.first, "long"), std::error_code{});
    EXPECT_EQ(receive(ends.second, 2).error(), std::errc::message_size);
}

TEST_F(unix_datagram_test, know_where_they_come_from) {
    const unix_address here = a_name();
    const unix_address there = a_name();
    auto server = unix_datagram::bind(on.home(), here).value();
    auto client = unix_datagram::bind(on.home(), there).value();
    EXPECT_EQ(server.local_address().value(), here);
    EXPECT_EQ(send(client, "x", here.as_address()), std::error_code{});
    batch into{1};
    EXPECT_EQ(on.run(receives_all(server, into)), 1U);
    EXPECT_EQ(unix_address{into.slots[0].from}, there);
    auto unnamed = unix_datagram::connect(on.home(), here).value();
    EXPECT_EQ(send(unnamed, "y"), std::error_code{});
    EXPECT_EQ(on.run(receives_all(server, into)), 1U);
    EXPECT_EQ(unix_address{into.slots[0].from}, unix_address{});
    EXPECT_EQ(unix_datagram::connect(on.home(), a_name()).error(), std::errc::connection_refused);
}

TEST_F(unix_datagram_test, a_send_waits_for_room) {
    const unix_address here = a_name();
    auto server = unix_datagram::bind(on.home(), here).value();
    auto client = unix_datagram::connect(on.home(), here).value();
    auto stranger = unix_datagram::bind(on.home(), a_name()).value();
    std::size_t sent = 0;
    std::error_code why;
    while (!(why = send(client, std::to_string(sent), std::nullopt, clock::now() + 1ms))) ++sent;
    EXPECT_EQ(why, std::errc::timed_out);
    EXPECT_GE(sent, 2U);
    // The system would not tell of room.
    EXPECT_EQ(send(stranger, "x", here.as_address()), std::errc::resource_unavailable_try_again);
    auto stopped = start(sends(client, "stopped", std::nullopt));
    EXPECT_FALSE(stopped.ended());
    stopped.request_stop();
    EXPECT_EQ(finish(stopped), std::errc::operation_canceled);
    const std::array<datagram, 3> more{
        datagram{.data = bytes_of("a")}, {.data = bytes_of("b")}, {.data = bytes_of("c")}};
    auto waits = start(sends_all(client, more));
    EXPECT_FALSE(waits.ended());
    for (std::size_t i = 0; i != sent; ++i) {
        EXPECT_EQ(receive(server, 100, clock::now() + 10s), std::to_string(i));
    }
    for (const std::string_view each : {"a", "b", "c"}) {
        EXPECT_EQ(receive(server, 100, clock::now() + 10s), std::string{each});
    }
    EXPECT_TRUE(finish(waits));
}

// A deadline between two pieces of a datagram: it counts as not sent.
TEST_F(unix_datagram_test, segments_are_cut_without_the_kernel) {
    const unix_address here = a_name();
    auto server = unix_datagram::bind(on.home(), here).value();
    auto client = unix_datagram::connect(on.home(), here).value();
    const std::string text = pattern(1005);
    const std::array<datagram, 2> all{datagram{.data = bytes_of("first")},
                                      {.data = bytes_of(text), .segment = 10}};
    auto waits = start(sends_all(client, all));
    EXPECT_FALSE(waits.ended());  // a hundred and one do not fit
    EXPECT_EQ(receive(server), "first");
    std::string seen;
    while (seen.size() != text.size()) {
        const auto piece = receive(server, 100, clock::now() + 10s);
        ASSERT_TRUE(piece);
        EXPECT_LE(piece->size(), 10U);
        seen += *piece;
    }
    EXPECT_EQ(seen, text);
    EXPECT_TRUE(finish(waits));
    const auto late = on.run(sends_all(client, all, clock::now() + 1ms));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().count, 1U);
    EXPECT_EQ(late.error().error, std::errc::timed_out);
}
}  // namespace
}  // namespace fairlead::io::unix_datagram_tests
