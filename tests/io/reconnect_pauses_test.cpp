// When a client connects to its server again.
#include <fairlead/detail/io/reconnect_pauses.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace fairlead::io::detail::reconnect_pauses_tests {
namespace {

using namespace std::chrono_literals;

class ReconnectPauses : public testing::Test {
protected:
    // From half of a pause up to a whole one.
    static void expect_drawn(duration pause, duration from) {
        EXPECT_GE(pause, from / 2);
        EXPECT_LE(pause, from);
    }

    sync::number_source lots{1};
    reconnect_pauses pauses{50ms, 150ms, lots};
};

TEST_F(ReconnectPauses, GrowWithEachFailureUpToALimit) {
    EXPECT_FALSE(pauses.are_failing());
    expect_drawn(pauses.after_failure(), 50ms);
    expect_drawn(pauses.after_failure(), 100ms);
    for (int i = 0; i != 100; ++i) expect_drawn(pauses.after_failure(), 150ms);
    EXPECT_TRUE(pauses.are_failing());
    pauses.opened();
    EXPECT_FALSE(pauses.are_failing());
    expect_drawn(pauses.after_failure(), 50ms);
}

TEST_F(ReconnectPauses, GrowWithEachConnectionThatEndsSoon) {
    expect_drawn(pauses.after_loss(49ms), 50ms);
    pauses.opened();
    expect_drawn(pauses.after_loss(99ms), 100ms);
    pauses.opened();
    expect_drawn(pauses.after_loss(0ms), 150ms);
    expect_drawn(pauses.after_loss(149ms), 150ms);
}

TEST_F(ReconnectPauses, AreNoneAfterAConnectionThatHasLasted) {
    EXPECT_EQ(pauses.after_loss(50ms), 0ms);
    expect_drawn(pauses.after_loss(0ms), 50ms);
    EXPECT_EQ(pauses.after_loss(100ms), 0ms);
    expect_drawn(pauses.after_loss(0ms), 50ms);
}

TEST_F(ReconnectPauses, AreDrawnByLot) {
    reconnect_pauses others{50ms, 150ms, lots};
    EXPECT_NE(pauses.after_failure(), others.after_failure());
}

}  // namespace
}  // namespace fairlead::io::detail::reconnect_pauses_tests
