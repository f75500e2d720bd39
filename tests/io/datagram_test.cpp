// Datagrams by UDP.
#include "io/datagrams.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/io/udp.hpp>

#include <gtest/gtest.h>

#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::datagram_tests {
namespace {

using namespace std::chrono_literals;

// --- one by one ----------------------------------------------------------------------------------

TEST_F(datagram_test, there_and_back) {
    for (const bool v6 : {false, true}) {
        const address any = v6 ? address::parse("::1", 0).value() : address::loopback(0);
        auto server = udp_socket::bind(on.home(), any).value();
        auto client = udp_socket::bind(on.home(), any).value();
        EXPECT_NE(server.local_address()->port(), 0);
        EXPECT_EQ(send(client, "question", *server.local_address()), std::error_code{});
        static constexpr auto answers = [](udp_socket& by) -> task<> {
            std::array<std::byte, 100> buffer;
            const auto question = (co_await by.receive_from(buffer)).value();
            EXPECT_EQ(text_of(question.data()), "question");
            EXPECT_TRUE(co_await by.send_to(bytes_of("answer"), question.from));
        };
        on.run(answers(server));
        EXPECT_EQ(receive(client), "answer");
    }
}

TEST_F(datagram_test, a_receive_waits) {
    auto server = bound();
    auto client = connected_to(server);
    for (int i = 0; i != 5; ++i) {
        auto handle = start(receives(server, 100));
        EXPECT_FALSE(handle.ended());
        EXPECT_EQ(send(client, "later"), std::error_code{});
        EXPECT_EQ(finish(handle), "later");
    }
}

TEST_F(datagram_test, an_empty_one_is_one) {
    auto server = bound();
    auto client = connected_to(server);
    EXPECT_EQ(send(client, ""), std::error_code{});
    EXPECT_EQ(send(client, "x"), std::error_code{});
    EXPECT_EQ(receive(server), "");
    EXPECT_EQ(receive(server), "x");
}

TEST_F(datagram_test, one_that_is_too_long_for_its_buffer_is_told) {
    auto server = bound();
    auto client = connected_to(server);
    EXPECT_EQ(send(client, "long"), std::error_code{});
    EXPECT_EQ(send(client, "fits"), std::error_code{});
    EXPECT_EQ(receive(server, 3).error(), std::errc::message_size);
    EXPECT_EQ(receive(server, 4), "fits");
    EXPECT_EQ(send(client, std::string(70'000, 'x')), std::errc::message_size);
}

TEST_F(datagram_test, deadlines_and_stops_end_a_receive_and_lose_nothing) {
    auto server = bound();
    auto client = connected_to(server);
    for (int i = 0; i != 3; ++i) {
        const time_point deadline = clock::now() + 2ms;
        EXPECT_EQ(receive(server, 100, deadline).error(), std::errc::timed_out);
        EXPECT_GE(clock::now(), deadline);
        auto handle = start(receives(server, 100));
        handle.request_stop();
        EXPECT_EQ(finish(handle).error(), std::errc::operation_canceled);
        EXPECT_EQ(send(client, "x"), std::error_code{});
        EXPECT_EQ(receive(server, 100, immediately), "x");
    }
    batch some{3};
    EXPECT_EQ(on.run(receives_all(server, some, clock::now() + 2ms)).error(), std::errc::timed_out);
}

task<int> selects(udp_socket& from, channel<int>& in) {
    std::array<std::byte, 10> buffer{};
    const auto ended =
        co_await select(on(in.receive(), [](waited<int>) { return 1; }),
                        on(from.receive_from(buffer),
                           [](const std::expected<arrived_datagram, std::error_code>& came) {
                               return came && came->size == 1 ? 2 : 3;
                           }));
    co_return ended ? *ended : 4;
}

TEST_F(datagram_test, a_branch_that_loses_leaves_it) {
    auto server = bound();
    auto client = connected_to(server);
    channel<int> in{1};
    for (int i = 0; i != 3; ++i) {
        EXPECT_TRUE(in.try_send(7));
        EXPECT_EQ(on.run(selects(server, in)), 1);
        EXPECT_EQ(send(client, "x"), std::error_code{});
        EXPECT_EQ(on.run(selects(server, in)), 2);
    }
}

// --- errors --------------------------------------------------------------------------------------

// The system tells of an earlier datagram, once, in either direction.
TEST_F(datagram_test, a_peer_without_a_socket_is_told_once_and_is_not_the_end) {
    auto gone = bound();
    auto client = connected_to(gone);
    const address where = gone.local_address().value();
    gone.close();
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(send(client, "lost"), std::error_code{});
        EXPECT_EQ(receive(client).error(), std::errc::connection_refused);
        EXPECT_EQ(receive(client, 10, clock::now() + 1ms).error(), std::errc::timed_out);
        EXPECT_EQ(send(client, "lost"), std::error_code{});
        EXPECT_EQ(send(client, "not sent"), std::errc::connection_refused);
    }
    auto waits = start(receives(client, 10));
    EXPECT_EQ(send(client, "lost"), std::error_code{});
    EXPECT_EQ(finish(waits).error(), std::errc::connection_refused);
    auto again = udp_socket::bind(on.home(), where).value();
    EXPECT_EQ(send(client, "found"), std::error_code{});
    EXPECT_EQ(receive(again), "found");
}

TEST_F(datagram_test, a_connected_one_hears_its_peer_alone) {
    auto server = bound();
    auto client = connected_to(server);
    auto other = bound();
    EXPECT_EQ(client.peer_address()->to_string(), server.local_address()->to_string());
    EXPECT_EQ(send(other, "from another one", *client.local_address()), std::error_code{});
    EXPECT_EQ(send(server, "from the peer", *client.local_address()), std::error_code{});
    EXPECT_EQ(receive(client), "from the peer");
    EXPECT_EQ(receive(client, 10, clock::now() + 1ms).error(), std::errc::timed_out);
}

TEST_F(datagram_test, one_without_a_peer_needs_an_address) {
    auto one = bound();
    EXPECT_EQ(send(one, "x"), std::errc::destination_address_required);
    EXPECT_EQ(one.peer_address().error(), std::errc::not_connected);
}

TEST_F(datagram_test, a_closed_one_answers_with_errors) {
    auto one = bound();
    const address where = *one.local_address();
    EXPECT_TRUE(one.is_open());
    udp_socket moved{std::move(one)};
    EXPECT_FALSE(one.is_open());
    EXPECT_EQ(one.native_handle(), -1);
    moved.close();
    moved.close();
    EXPECT_EQ(receive(moved).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(send(moved, "x", where), std::errc::bad_file_descriptor);
    batch some{2};
    EXPECT_EQ(on.run(receives_all(moved, some)).error(), std::errc::bad_file_descriptor);
    const datagram cut{.data = bytes_of("xxxx"), .to = &where, .segment = 2};
    EXPECT_EQ(on.run(sends_all(moved, {&cut, 1})).error().error, std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.join(address::parse("239.1.1.1", 0).value()).error(),
              std::errc::bad_file_descriptor);
    EXPECT_EQ(moved.local_address().error(), std::errc::bad_file_descriptor);
}

TEST_F(datagram_test, an_address_in_use_is_told) {
    auto one = bound();
    EXPECT_EQ(udp_socket::bind(on.home(), *one.local_address()).error(), std::errc::address_in_use);
    auto first = bound({.reuse_port = true});
    EXPECT_TRUE(udp_socket::bind(on.home(), *first.local_address(), {.reuse_port = true}));
}

// --- options -------------------------------------------------------------------------------------

int number_of(const udp_socket& of, int level, int option) {
    int value = 0;
    socklen_t size = sizeof(value);
    EXPECT_EQ(::getsockopt(of.native_handle(), level, option, &value, &size), 0);
    return value;
}

TEST_F(datagram_test, options_are_set) {
    auto plain = bound();
    auto one = bound({.reuse_address = true,
                      .broadcast = true,
                      .receive_buffer = 50'000,
                      .send_buffer = 60'000});
    EXPECT_EQ(number_of(plain, SOL_SOCKET, SO_BROADCAST), 0);
    EXPECT_EQ(number_of(one, SOL_SOCKET, SO_BROADCAST), 1);
    EXPECT_EQ(number_of(one, SOL_SOCKET, SO_REUSEADDR), 1);
    EXPECT_EQ(number_of(one, SOL_SOCKET, SO_RCVBUF), 100'000);  // the system counts its own, too
    EXPECT_EQ(number_of(one, SOL_SOCKET, SO_SNDBUF), 120'000);
    auto v6 = udp_socket::bind(on.home(), address::parse("::1", 0).value(), {.v6_only = true});
    EXPECT_EQ(number_of(*v6, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    // More than the system gives.
    auto greedy = bound({.receive_buffer = ~std::size_t{0}});
    EXPECT_GT(number_of(greedy, SOL_SOCKET, SO_RCVBUF), 0);
}

TEST_F(datagram_test, a_group_is_joined_and_left) {
    const unsigned loop = ::if_nametoindex("lo");
    auto one = udp_socket::bind(on.home(), address::parse("0.0.0.0", 0).value()).value();
    const address group = address::parse("239.77.1.1", one.local_address()->port()).value();
    EXPECT_EQ(one.join(address::loopback(0), loop).error(), std::errc::invalid_argument);
    EXPECT_EQ(one.leave(group, loop).error(), std::errc::address_not_available);
    ASSERT_TRUE(one.join(group, loop));
    EXPECT_EQ(one.join(group, loop).error(), std::errc::address_in_use);
    auto sender = bound();
    const ip_mreqn by{
        .imr_multiaddr = {}, .imr_address = {}, .imr_ifindex = static_cast<int>(loop)};
    ASSERT_EQ(::setsockopt(sender.native_handle(), IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)),
              0);
    EXPECT_EQ(send(sender, "to all", group), std::error_code{});
    EXPECT_EQ(receive(one), "to all");
    EXPECT_TRUE(one.leave(group, loop));
    EXPECT_EQ(send(sender, "to all", group), std::error_code{});
    EXPECT_EQ(receive(one, 10, clock::now() + 1ms).error(), std::errc::timed_out);
}

// --- batches -------------------------------------------------------------------------------------

TEST_F(datagram_test, batches_keep_their_order) {
    auto server = bound({.receive_buffer = 200'000});
    auto client = bound();
    const address where = *server.local_address();
    std::vector<std::string> texts;
    std::vector<datagram> all;
    for (std::size_t i = 0; i != 100; ++i) texts.push_back(pattern(i * 7 % 300));
    for (const std::string& each : texts) all.push_back({.data = bytes_of(each), .to = &where});
    EXPECT_TRUE(on.run(sends_all(client, all)));
    EXPECT_TRUE(on.run(sends_all(client, {})));
    std::size_t seen = 0;
    while (seen != texts.size()) {
        batch into{40};
        const std::size_t count = on.run(receives_all(server, into)).value();
        ASSERT_GE(count, 1U);
        ASSERT_LE(count, datagram_socket::batch_max);
        for (std::size_t i = 0; i != count; ++i, ++seen) {
            EXPECT_EQ(text_of(into.slots[i].data()), texts[seen]);
            EXPECT_EQ(into.slots[i].from.to_string(), client.local_address()->to_string());
            EXPECT_FALSE(into.slots[i].is_cut);
        }
    }
    batch nothing{0};
    EXPECT_EQ(on.run(receives_all(server, nothing)), 0U);
}

TEST_F(datagram_test, a_batch_tells_what_did_not_fit) {
    auto server = bound();
    auto client = connected_to(server);
    for (const std::string_view each : {"ab", "abc", "abcd"}) {
        EXPECT_EQ(send(client, std::string{each}), std::error_code{});
    }
    batch into{5, 3};
    EXPECT_EQ(on.run(receives_all(server, into)), 3U);
    EXPECT_EQ(text_of(into.slots[1].data()), "abc");
    EXPECT_FALSE(into.slots[0].is_cut || into.slots[1].is_cut);
    EXPECT_EQ(text_of(into.slots[2].data()), "abc");
    EXPECT_TRUE(into.slots[2].is_cut);
}

TEST_F(datagram_test, a_batch_tells_how_many_were_sent_before_an_error) {
    auto server = bound();
    auto client = connected_to(server);
    const std::string long_text(70'000, 'x');
    const std::array<datagram, 4> all{datagram{.data = bytes_of("a")},
                                      {.data = bytes_of("b")},
                                      {.data = bytes_of(long_text)},
                                      {.data = bytes_of("c")}};
    const auto done = on.run(sends_all(client, all));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().count, 2U);
    EXPECT_EQ(done.error().error, std::errc::message_size);
    EXPECT_EQ(receive(server), "a");
    EXPECT_EQ(receive(server), "b");
    EXPECT_EQ(receive(server, 10, clock::now() + 1ms).error(), std::errc::timed_out);
}
}  // namespace
}  // namespace fairlead::io::datagram_tests
