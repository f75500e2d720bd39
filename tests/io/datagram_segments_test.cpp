// Datagrams that are cut out of more data, and that come several at once.
#include "io/datagrams.hpp"
#include "support/seeds.hpp"

#include <fairlead/io/udp.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::io::datagram_segments_tests {
namespace {

using namespace std::chrono_literals;

class datagram_segments_test : public datagram_test {};

// --- segments ------------------------------------------------------------------------------------

// The datagrams that come, whether or not several come at once.
std::vector<std::string> pieces_of(const arrived_datagram& from) {
    std::vector<std::string> all;
    std::span<const std::byte> rest = from.data();
    while (rest.size() > from.segment) {
        all.push_back(text_of(rest.first(from.segment)));
        rest = rest.subspan(from.segment);
    }
    all.push_back(text_of(rest));
    return all;
}

TEST_F(datagram_segments_test, segments_leave_as_datagrams) {
    for (const bool gro : {false, true}) {
        auto server = bound({.receive_buffer = 400'000, .gro = gro});
        auto client = connected_to(server);
        EXPECT_EQ(server.gro(), gro);
        // One with a short end, exact ones, more than the system cuts at once, and a plain one.
        for (const auto& [size, segment] :
             std::vector<std::pair<std::size_t, std::uint16_t>>{{3500, 1000},
                                                                {3000, 1000},
                                                                {90'000, 1000},
                                                                {500, 3},
                                                                {10, 10},
                                                                {10, 11},
                                                                {0, 5},
                                                                {100'000, 40'000},
                                                                {700, 0}}) {
            const std::string text = pattern(size);
            const std::array<datagram, 2> all{datagram{.data = bytes_of(text), .segment = segment},
                                              {.data = bytes_of("end")}};
            auto sending = start(sends_all(client, all));
            std::string seen;
            std::vector<std::string> pieces;
            while (pieces.empty() || pieces.back() != "end") {
                batch into{40, 70'000};
                const auto count = on.run(receives_all(server, into, clock::now() + 10s));
                ASSERT_TRUE(count) << size << " in " << segment;
                for (std::size_t i = 0; i != *count; ++i) {
                    EXPECT_FALSE(into.slots[i].is_cut);
                    for (auto& each : pieces_of(into.slots[i])) pieces.push_back(std::move(each));
                }
            }
            EXPECT_TRUE(finish(sending));
            pieces.pop_back();
            const std::size_t length = segment == 0 ? size + 1 : segment;
            EXPECT_EQ(pieces.size(), size == 0 ? 1 : (size + length - 1) / length);
            for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
                EXPECT_EQ(pieces[i].size(), segment);
            for (const std::string& each : pieces) seen += each;
            EXPECT_EQ(seen, text);
        }
        EXPECT_FALSE(client.gso_refused());  // this kernel cuts
    }
}

TEST_F(datagram_segments_test, several_come_at_once_when_they_were_sent_at_once) {
    auto server = bound({.gro = true});
    auto client = connected_to(server);
    const std::string text = pattern(10'500);
    const datagram one{.data = bytes_of(text), .segment = 1000};
    EXPECT_TRUE(on.run(sends_all(client, {&one, 1})));
    batch into{4, 70'000};
    ASSERT_EQ(on.run(receives_all(server, into)), 1U);
    EXPECT_EQ(into.slots[0].segment, 1000U);
    EXPECT_EQ(text_of(into.slots[0].data()), text);
    // Those that do not fit are lost, and this is told.
    EXPECT_TRUE(on.run(sends_all(client, {&one, 1})));
    EXPECT_EQ(receive(server, 1500).error(), std::errc::message_size);
}

// The kernel cuts at most 64 KiB at once.
TEST_F(datagram_segments_test, what_the_kernel_does_not_cut_leaves_in_pieces) {
    auto server = bound({.receive_buffer = 400'000});
    auto client = connected_to(server);
    const std::string text = pattern(65'000 * 2 + 1);
    const datagram one{.data = bytes_of(text), .segment = 65'000};
    auto sending = start(sends_all(client, {&one, 1}));
    std::string seen;
    while (seen.size() != text.size()) {
        const auto piece = receive(server, 70'000, clock::now() + 10s);
        ASSERT_TRUE(piece);
        seen += *piece;
    }
    EXPECT_EQ(seen, text);
    EXPECT_TRUE(finish(sending));
}

// No datagram has so many bytes.
TEST_F(datagram_segments_test, segments_that_are_too_long_are_refused) {
    const auto server = bound();
    auto client = connected_to(server);
    const std::string text = pattern(140'000);
    for (const std::uint16_t segment : {65'508, 65'535}) {
        const datagram one{.data = bytes_of(text), .segment = segment};
        const auto sent = on.run(sends_all(client, {&one, 1}, clock::now() + 10s));
        ASSERT_FALSE(sent);
        EXPECT_EQ(sent.error().error, std::errc::message_size);
        EXPECT_EQ(sent.error().count, 0U);
    }
}

// --- at random -----------------------------------------------------------------------------------

// Batches of any size with any segments, over UDP and over Unix: each datagram comes once, in
// order, as long as there is room for all.
TEST_F(datagram_segments_test, any_batches_come_as_they_were_sent) {
    test::for_each_seed(60, [&](std::mt19937_64& random) {
        const bool gro = random() % 2 == 0;
        auto server = bound({.receive_buffer = 400'000, .gro = gro});
        auto client = connected_to(server);
        std::deque<std::string> expected;
        for (int i = 0; i != 10 && !testing::Test::HasFailure(); ++i) {
            std::vector<std::string> texts(random() % 50);
            std::vector<datagram> all;
            for (std::string& each : texts) {
                each = pattern(random() % 400);
                const auto segment = static_cast<std::uint16_t>(random() % 3 * 50);
                all.push_back({.data = bytes_of(each), .segment = segment});
                for (std::size_t from = 0;;) {
                    const std::size_t size =
                        segment == 0 ? each.size()
                                     : std::min<std::size_t>(segment, each.size() - from);
                    expected.push_back(each.substr(from, size));
                    from += size;
                    if (from >= each.size()) break;
                }
            }
            EXPECT_TRUE(on.run(sends_all(client, all)));
            while (!expected.empty() && !testing::Test::HasFailure()) {
                batch into{1 + random() % 40, 70'000};
                const auto count = on.run(receives_all(server, into, clock::now() + 10s));
                ASSERT_TRUE(count);
                for (std::size_t slot = 0; slot != *count; ++slot) {
                    for (const std::string& piece : pieces_of(into.slots[slot])) {
                        ASSERT_FALSE(expected.empty());
                        EXPECT_EQ(piece, expected.front());
                        expected.pop_front();
                    }
                }
            }
        }
    });
}

}  // namespace
}  // namespace fairlead::io::datagram_segments_tests
