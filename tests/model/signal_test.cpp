// The signal: senders, a receiver that frees it at once, time-outs.
#include "model/explore.hpp"

#include <fairlead/detail/sync/signal.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace fairlead::sync::signal_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

constexpr time_point soon{duration{10}};

TEST(ModelSignal, AReceiverGetsTheDataOfTheSender) {
    model::expect_passes([] {
        signal told;
        plain<int> data{0};
        thread sender{[&] {
            data = 1;
            told.send();
        }};
        told.receive();
        require(data == 1, "the data is there");
    });
}

TEST(ModelSignal, MayBeFreedAsSoonAsItIsReceived) {
    model::expect_passes({.spurious = 2}, [] {
        auto* const told = new signal;
        thread sender{[=] { told->send(); }};
        told->receive();
        delete told;
    });
}

// Each sender relies on its own send, even if the signal is set already [SG1].
TEST(ModelSignal, EachOfTwoSendersIsHeard) {
    model::expect_passes([] {
        signal told;
        atomic<int> arrived{0};
        const auto send = [&] {
            arrived.fetch_add(1, relaxed);
            told.send();
        };
        thread first{send};
        thread second{send};
        while (arrived.load(relaxed) != 2) told.receive();
    });
}

// The shape of a stop: data, then a send that finds the signal set.
TEST(ModelSignal, AFlagBeforeASecondSendIsSeen) {
    model::expect_passes([] {
        signal told;
        atomic<bool> stop{false};
        thread worker{[&] {
            told.send();
            while (!stop.load(acquire)) told.receive();
        }};
        stop.store(true, release);
        told.send();
    });
}

// Beside a sender and a time-out, too.
TEST(ModelSignal, AStopIsHeardThoughATimeOutRacesWithASend) {
    model::expect_passes([] {
        signal told;
        atomic<bool> stop{false};
        plain<int> data{0};
        thread worker{[&] {
            if (!stop.load(acquire)) static_cast<void>(told.receive_until(soon));
            while (!stop.load(acquire)) told.receive();
            require(data == 1, "what came before the stop is there");
        }};
        thread sender{[&] { told.send(); }};
        data = 1;
        stop.store(true, release);
        told.send();
    });
}

TEST(ModelSignal, ATimeOutRacesWithASend) {
    model::expect_passes({.spurious = 2}, [] {
        auto* const told = new signal;
        plain<int> data{0};
        bool received = false;
        {
            thread sender{[&, told] {
                data = 1;
                told->send();
            }};
            received = told->receive_until(soon);
            require(received || clock::now() >= soon, "not before its time");
            if (received) require(data == 1, "the data is there");
        }
        require(received || told->try_receive(), "it is sent or received");
        require(!told->try_receive(), "once");
        delete told;
    });
}

TEST(ModelSignal, IsUsableAfterATimeOut) {
    model::expect_passes([] {
        signal told;
        thread sender{[&] { told.send(); }};
        if (!told.receive_until(soon)) told.receive();
        require(!told.try_receive(), "once");
    });
}

TEST(ModelSignal, ManySendersAndReceives) {
    model::expect_passes({.how = model::search::pct, .executions_max = 100'000, .depth = 4}, [] {
        signal told;
        atomic<int> arrived{0};
        const auto send = [&] {
            for (int i = 0; i != 2; ++i) {
                arrived.fetch_add(1, relaxed);
                told.send();
            }
        };
        thread first{send};
        thread second{send};
        thread third{send};
        while (arrived.load(relaxed) != 6) told.receive();
    });
}

}  // namespace
}  // namespace fairlead::sync::signal_tests
