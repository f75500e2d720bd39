// Ports and their consumers against their model, with random operations; and the model finds ports
// with a planted mistake.
#include "fuzz/messages_check.hpp"
#include "fuzz/random_input.hpp"

#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace fairlead::fuzz::messages_tests {
namespace {

template <class Port = port<int>>
void check_with(std::mt19937_64& random) {
    std::vector<std::uint8_t> bytes(50 + random() % 3'000);
    for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
    messages_check<Port>{input{bytes}}.run();
}

TEST(MessagesAgainstAModel, DoWhatItSays) { test::for_each_seed(1'000, check_with<>); }

struct port_that_loses : port<int> {
    using port::port;
    waited<void> try_send(int&& message) {
        if (message % 16 == 15) return {};
        return port::try_send(std::move(message));
    }
};

struct port_that_repeats : port<int> {
    using port::port;
    waited<void> try_send(int&& message) {
        const waited<void> sent = port::try_send(int{message});
        if (sent && message % 16 == 15) static_cast<void>(port::try_send(int{message}));
        return sent;
    }
};

struct port_that_does_not_close : port<int> {
    using port::port;
    bool close() { return true; }
};

template <class Port>
void check_some() {
    test::for_each_seed(300, check_with<Port>);
}

TEST(MessagesAgainstAModelDeathTest, SeeAMessageThatIsLost) {
    EXPECT_DEATH(check_some<port_that_loses>(), "no message is lost");
}
TEST(MessagesAgainstAModelDeathTest, SeeAMessageThatComesTwice) {
    EXPECT_DEATH(check_some<port_that_repeats>(),
                 "a message has one fate|a port has what was sent");
}
TEST(MessagesAgainstAModelDeathTest, SeeAPortThatDoesNotClose) {
    EXPECT_DEATH(check_some<port_that_does_not_close>(), "to end has ended");
}

}  // namespace
}  // namespace fairlead::fuzz::messages_tests
