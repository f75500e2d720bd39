// What a subscription keeps for its user.
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/io/subscription_queue.hpp>

#include "support/simulated_test.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace fairlead::io::detail::subscription_queue_tests {
namespace {

using namespace std::chrono_literals;

enum class errc : std::uint8_t { messages_lost, closed, refused };

struct error {
    explicit error(errc code) : of_user{code} {}
    explicit error(std::error_code code) : of_wait{code} {}
    std::optional<errc> of_user{};
    std::error_code of_wait{};
};

class SubscriptionQueue : public test::simulated_test {
protected:
    using queue = subscription_queue<std::string, error, errc>;

    // The next message, or the name of what there is in its place.
    std::string next() {
        const auto got = block_on(*simulation, messages.receive(clock.now() + 1s));
        return got ? *got : text_of(got.error());
    }
    std::string opened() {
        const auto got = block_on(*simulation, messages.until_opened(clock.now() + 1s));
        return got ? "opened" : text_of(got.error());
    }
    static std::string text_of(const error& why) {
        if (why.of_wait == std::errc::timed_out) return "nothing";
        return why.of_user == errc::messages_lost ? "gap"
               : why.of_user == errc::closed      ? "closed"
                                                  : "refused";
    }

    queue messages{2};
};

TEST_F(SubscriptionQueue, GivesMessagesInOrder) {
    messages.opened();
    messages.keep("one");
    messages.keep("two");
    EXPECT_EQ(next(), "one");
    EXPECT_EQ(next(), "two");
    EXPECT_EQ(next(), "nothing");
}

TEST_F(SubscriptionQueue, TellsOfWhatItHadNoRoomFor) {
    messages.opened();
    for (const char* const each : {"one", "two", "three", "four"}) messages.keep(each);
    EXPECT_EQ(next(), "one");
    messages.keep("five");
    EXPECT_EQ(next(), "two");
    EXPECT_EQ(next(), "gap");
    EXPECT_EQ(next(), "five");
    EXPECT_EQ(next(), "nothing");
}

TEST_F(SubscriptionQueue, TellsOnceOfALostConnection) {
    messages.opened();
    messages.keep("one");
    messages.lost();
    messages.lost();
    messages.opened();
    EXPECT_EQ(next(), "one");
    EXPECT_EQ(next(), "gap");
    EXPECT_EQ(next(), "nothing");
}

TEST_F(SubscriptionQueue, ALossBeforeTheFirstConfirmationIsNoGap) {
    messages.lost();
    messages.opened();
    EXPECT_EQ(next(), "nothing");
}

TEST_F(SubscriptionQueue, TellsOnceOfAFailureUnlessItIsOver) {
    messages.opened();
    messages.fail(error{errc::refused});
    EXPECT_EQ(next(), "refused");
    EXPECT_EQ(next(), "nothing");
    messages.fail(error{errc::refused});
    messages.opened();
    EXPECT_EQ(next(), "nothing");
}

TEST_F(SubscriptionQueue, WhatHasComeIsTakenAfterTheEnd) {
    messages.opened();
    messages.keep("one");
    messages.lost();
    messages.end();
    EXPECT_EQ(next(), "one");
    EXPECT_EQ(next(), "gap");
    EXPECT_EQ(next(), "closed");
    EXPECT_EQ(next(), "closed");
}

TEST_F(SubscriptionQueue, WaitsForTheFirstConfirmation) {
    EXPECT_EQ(opened(), "nothing");
    messages.fail(error{errc::refused});
    EXPECT_EQ(opened(), "refused");
    messages.opened();
    messages.keep("one");
    EXPECT_EQ(opened(), "opened");
    EXPECT_EQ(next(), "one");
    messages.end();
    EXPECT_EQ(opened(), "opened");
}

TEST_F(SubscriptionQueue, AnEndBeforeTheConfirmationIsTold) {
    messages.end();
    EXPECT_EQ(opened(), "closed");
}

TEST_F(SubscriptionQueue, WakesItsUser) {
    auto waiting = spawn(*simulation, messages.receive(never));
    simulation->run_until_idle();
    EXPECT_FALSE(waiting.ended());
    messages.opened();
    simulation->run_until_idle();
    EXPECT_FALSE(waiting.ended());
    messages.keep("one");
    simulation->run_until_idle();
    ASSERT_TRUE(waiting.ended());
    EXPECT_EQ(waiting.get().value(), "one");
}

}  // namespace
}  // namespace fairlead::io::detail::subscription_queue_tests
