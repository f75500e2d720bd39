// What comes beside a datagram by UDP, and what can be said beside it: its destination and source,
// its mark, and how many were dropped.
#include "io/datagrams.hpp"

#include <fairlead/io/udp.hpp>

#include <gtest/gtest.h>

#include <net/if.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::datagram_details_tests {
namespace {

using namespace std::chrono_literals;

task<arrived_datagram> receives_one(udp_socket& from, std::span<std::byte> buffer) {
    const auto came = co_await from.receive_from(buffer, clock::now() + 20s);
    if (came) co_return *came;
    ADD_FAILURE() << came.error().message();
    co_return arrived_datagram{};
}

class datagram_details_test : public datagram_test {
protected:
    [[nodiscard]] udp_socket at(const char* host, udp_options options = {}) {
        return udp_socket::bind(on.home(), address::parse(host, 0).value(), options).value();
    }
    [[nodiscard]] static address address_of(const char* host, const udp_socket& of) {
        return address::parse(host, of.local_address()->port()).value();
    }
    [[nodiscard]] arrived_datagram next(udp_socket& from) {
        return on.run(receives_one(from, room));
    }
    [[nodiscard]] std::error_code say(udp_socket& by, const datagram& what) {
        const auto done = on.run(sends_all(by, {&what, 1}));
        return done ? std::error_code{} : done.error().error;
    }

    std::array<std::byte, 2000> room{};
};

// --- destinations --------------------------------------------------------------------------------

struct family {
    const char* any;      // what the server is bound to
    const char* asked;    // where the client sends to
    const char* foreign;  // of no machine here
};
constexpr std::array families{family{"0.0.0.0", "127.0.0.2", "203.0.113.1"},
                              family{"::", "::1", "2001:db8::1"},
                              family{"::", "::ffff:127.0.0.2", "::ffff:203.0.113.1"}};

TEST_F(datagram_details_test, a_destination_is_told) {
    for (const family& each : families) {
        SCOPED_TRACE(each.asked);
        auto server = at(each.any, {.destinations = true});
        auto client = at(each.any);
        const address where = address_of(each.asked, server);
        EXPECT_EQ(say(client, {.data = bytes_of("question"), .to = &where}), std::error_code{});
        const arrived_datagram came = next(server);
        EXPECT_EQ(text_of(came.data()), "question");
        EXPECT_EQ(came.segment, came.size);
        ASSERT_TRUE(came.to);
        EXPECT_EQ(*came.to, address::parse(each.asked, 0).value());
        EXPECT_EQ(came.interface, ::if_nametoindex("lo"));
        EXPECT_EQ(came.mark, ecn_mark::not_ect);
        EXPECT_EQ(came.dropped, 0U);
    }
}

// A connected client hears nothing from another address than that which it has asked.
TEST_F(datagram_details_test, an_answer_leaves_from_the_address_that_was_asked) {
    for (const family& each : families) {
        SCOPED_TRACE(each.asked);
        auto server = at(each.any, {.destinations = true});
        auto client = udp_socket::connect(on.home(), address_of(each.asked, server)).value();
        EXPECT_EQ(send(client, "question"), std::error_code{});
        const arrived_datagram came = next(server);
        ASSERT_TRUE(came.to);
        EXPECT_EQ(say(server, {.data = bytes_of("answer"), .to = &came.from, .from = &*came.to}),
                  std::error_code{});
        EXPECT_EQ(receive(client, 2000, clock::now() + 20s), "answer");
    }
}

TEST_F(datagram_details_test, the_source_is_chosen_for_each_datagram_of_a_batch) {
    auto server = at("0.0.0.0");
    auto client = at("0.0.0.0");
    const address where = address_of("127.0.0.1", server);
    const std::array sources{address::parse("127.0.0.3", 0).value(),
                             address::parse("127.0.0.4", 9).value()};
    const std::string text = pattern(3000);
    const std::array<datagram, 4> all{
        datagram{.data = bytes_of("one"), .to = &where, .from = &sources[0]},
        {.data = bytes_of("two"), .to = &where, .from = &sources[1]},
        {.data = bytes_of("three"), .to = &where},
        {.data = bytes_of(text), .to = &where, .segment = 1000, .from = &sources[0]}};
    EXPECT_TRUE(on.run(sends_all(client, all)));
    for (const char* const from :
         {"127.0.0.3", "127.0.0.4", "127.0.0.1", "127.0.0.3", "127.0.0.3", "127.0.0.3"}) {
        EXPECT_EQ(next(server).from, address_of(from, client));
    }
}

TEST_F(datagram_details_test, a_source_of_another_machine_is_refused) {
    for (const family& each : families) {
        SCOPED_TRACE(each.foreign);
        auto server = at(each.any);
        auto client = at(each.any);
        const address where = address_of(each.asked, server);
        const address foreign = address::parse(each.foreign, 0).value();
        const std::string text = pattern(3000);
        for (const std::uint16_t segment : {0, 1000}) {
            const std::error_code why =
                say(client,
                    {.data = bytes_of(text), .to = &where, .segment = segment, .from = &foreign});
            // Of IPv4 newer kernels say the second, as there is no way from there.
            EXPECT_TRUE(why == std::errc::invalid_argument || why == std::errc::network_unreachable)
                << why.message();
        }
        // That is no reason to cut data without the kernel.
        EXPECT_FALSE(client.gso_refused());
        EXPECT_EQ(say(client, {.data = bytes_of("y"), .to = &where}), std::error_code{});
        EXPECT_EQ(text_of(next(server).data()), "y");
    }
}

TEST_F(datagram_details_test, a_group_is_the_destination) {
    const unsigned loop = ::if_nametoindex("lo");
    auto one = at("0.0.0.0", {.destinations = true});
    const address group = address_of("239.77.1.2", one);
    ASSERT_TRUE(one.join(group, loop));
    auto sender = bound();
    const ip_mreqn by{
        .imr_multiaddr = {}, .imr_address = {}, .imr_ifindex = static_cast<int>(loop)};
    ASSERT_EQ(::setsockopt(sender.native_handle(), IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)),
              0);
    EXPECT_EQ(say(sender, {.data = bytes_of("to all"), .to = &group}), std::error_code{});
    const arrived_datagram came = next(one);
    EXPECT_EQ(came.to, address::parse("239.77.1.2", 0).value());
    EXPECT_EQ(came.interface, loop);
}

// --- marks ---------------------------------------------------------------------------------------

constexpr std::array all_marks{ecn_mark::ect_0, ecn_mark::not_ect, ecn_mark::ce, ecn_mark::ect_1};

TEST_F(datagram_details_test, marks_arrive) {
    for (const family& each : families) {
        SCOPED_TRACE(each.asked);
        auto server = at(each.any, {.marks = true});
        auto client = at(each.any);
        const address where = address_of(each.asked, server);
        std::vector<datagram> all;
        for (const ecn_mark mark : all_marks) {
            all.push_back({.data = bytes_of("x"), .to = &where, .mark = mark});
        }
        EXPECT_TRUE(on.run(sends_all(client, all)));
        for (const ecn_mark mark : all_marks) {
            const arrived_datagram came = next(server);
            EXPECT_EQ(came.mark, mark);
            EXPECT_FALSE(came.to);
        }
        auto peer = udp_socket::connect(on.home(), where).value();
        EXPECT_EQ(say(peer, {.data = bytes_of("y"), .mark = ecn_mark::ect_1}), std::error_code{});
        EXPECT_EQ(next(server).mark, ecn_mark::ect_1);
    }
}

TEST_F(datagram_details_test, each_segment_has_the_mark) {
    for (const bool gro : {false, true}) {
        auto server = bound({.receive_buffer = 200'000, .gro = gro, .marks = true});
        auto client = connected_to(server);
        const std::string text = pattern(3500);
        std::vector<datagram> all;
        for (const ecn_mark mark : all_marks) {
            all.push_back({.data = bytes_of(text), .segment = 1000, .mark = mark});
        }
        EXPECT_TRUE(on.run(sends_all(client, all)));
        std::string seen;
        while (seen.size() < text.size() * all.size()) {
            batch into{20, 70'000};
            const auto count = on.run(receives_all(server, into, clock::now() + 20s));
            ASSERT_TRUE(count);
            for (std::size_t i = 0; i != *count; ++i) {
                EXPECT_EQ(into.slots[i].mark, all_marks[seen.size() / text.size()]);
                seen += text_of(into.slots[i].data());
            }
        }
        EXPECT_EQ(seen, text + text + text + text);
    }
}

TEST_F(datagram_details_test, a_mark_of_the_socket_stays_where_none_is_given) {
    auto server = bound({.marks = true});
    auto client = connected_to(server);
    const int of_all = 2;
    ASSERT_EQ(::setsockopt(client.native_handle(), IPPROTO_IP, IP_TOS, &of_all, sizeof(of_all)), 0);
    EXPECT_EQ(send(client, "x"), std::error_code{});
    EXPECT_EQ(next(server).mark, ecn_mark::ect_0);
    EXPECT_EQ(say(client, {.data = bytes_of("y"), .mark = ecn_mark::ce}), std::error_code{});
    EXPECT_EQ(next(server).mark, ecn_mark::ce);
}

// --- drops ---------------------------------------------------------------------------------------

// On loopback a send puts the datagram into the buffer of the receiver, or drops it.
TEST_F(datagram_details_test, drops_are_counted) {
    for (const bool gro : {false, true}) {
        auto server = bound({.receive_buffer = 20'000, .gro = gro, .drops = true});
        auto client = connected_to(server);
        const std::string text = pattern(1000);
        std::uint32_t dropped = 0;
        for (int round = 0; round != 3; ++round) {
            constexpr std::uint32_t sent = 200;
            for (std::uint32_t i = 0; i != sent; ++i) {
                ASSERT_EQ(send(client, text), std::error_code{});
            }
            std::uint32_t came = 0;
            for (;;) {
                batch into{32, 70'000};
                const auto count = on.run(receives_all(server, into, immediately));
                if (!count) break;
                for (std::size_t i = 0; i != *count; ++i) {
                    // Those that were taken in before the first drop of this round.
                    EXPECT_EQ(into.slots[i].dropped, dropped);
                    came += static_cast<std::uint32_t>(into.slots[i].size / text.size());
                }
            }
            ASSERT_GT(came, 0U);
            ASSERT_LT(came, sent);
            dropped += sent - came;
            EXPECT_EQ(send(client, "after"), std::error_code{});
            EXPECT_EQ(next(server).dropped, dropped);
        }
    }
}

// --- all of it, and nothing ----------------------------------------------------------------------

TEST_F(datagram_details_test, all_is_told_at_once) {
    auto server = at("::", {.receive_buffer = 20'000,
                            .gro = true,
                            .destinations = true,
                            .marks = true,
                            .drops = true});
    auto client = at("::");
    const address where = address_of("::1", server);
    const address source = address::parse("::1", 0).value();
    const std::string text = pattern(1000);
    for (int i = 0; i != 200; ++i) ASSERT_EQ(send(client, text, where), std::error_code{});
    for (;;) {
        batch into{32};
        if (!on.run(receives_all(server, into, immediately))) break;
    }
    const std::string long_text = pattern(1500);
    EXPECT_EQ(say(client, {.data = bytes_of(long_text),
                           .to = &where,
                           .segment = 500,
                           .from = &source,
                           .mark = ecn_mark::ce}),
              std::error_code{});
    const arrived_datagram came = next(server);
    EXPECT_EQ(text_of(came.data()), long_text);
    EXPECT_EQ(came.segment, 500U);
    EXPECT_EQ(came.to, source);
    EXPECT_EQ(came.interface, ::if_nametoindex("lo"));
    EXPECT_EQ(came.mark, ecn_mark::ce);
    EXPECT_GT(came.dropped, 0U);
    EXPECT_EQ(came.from, address_of("::1", client));
}

// Slots that were used before tell nothing of the datagram before.
TEST_F(datagram_details_test, what_is_not_asked_for_is_not_told) {
    auto plain = bound();
    auto client = connected_to(plain);
    EXPECT_EQ(say(client, {.data = bytes_of("x"), .mark = ecn_mark::ce}), std::error_code{});
    batch into{1};
    arrived_datagram& slot = into.slots[0];
    slot.segment = 7;
    slot.to = address{};
    slot.interface = 7;
    slot.mark = ecn_mark::ce;
    slot.dropped = 7;
    EXPECT_EQ(on.run(receives_all(plain, into)), 1U);
    EXPECT_EQ(slot.segment, 1U);
    EXPECT_FALSE(slot.to);
    EXPECT_EQ(slot.interface, 0U);
    EXPECT_EQ(slot.mark, ecn_mark::not_ect);
    EXPECT_EQ(slot.dropped, 0U);

    auto marked = bound({.marks = true});
    auto other = connected_to(marked);
    slot.to = address{};
    slot.dropped = 7;
    EXPECT_EQ(say(other, {.data = bytes_of("x"), .mark = ecn_mark::ce}), std::error_code{});
    EXPECT_EQ(on.run(receives_all(marked, into)), 1U);
    EXPECT_FALSE(slot.to);
    EXPECT_EQ(slot.mark, ecn_mark::ce);
    EXPECT_EQ(slot.dropped, 0U);
}

}  // namespace
}  // namespace fairlead::io::datagram_details_tests
