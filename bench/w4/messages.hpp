// W4 as messages: `count` messages are sent from outside, one to each of `count` ports, and each
// makes `count` more, one for each port; until the last was handled. Nanoseconds for one message.
// Case `ports`. With a count of 1,000 it is the experiment of iris: 1.001 million messages.
//
// The twin posts a lambda into a group for each message, with the same tree: it has no ports, no
// receivers, and no order.
//
// A tenth of the parents run once before the measurement.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"
#include "support/tally.hpp"
#include "w4/recursive.hpp"

#include <fairlead/message/port.hpp>
#include <fairlead/message/port_receiver.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace bench::w4 {

struct message {
    bool is_parent = false;
};

// A port and its receiver. The handler of a parent sends to all ports, beginning with its own.
class mailboxes {
public:
    mailboxes(fairlead::executor where, std::uint64_t count) : ports_(count) {
        for (std::uint64_t i = 0; i != count; ++i) {
            receivers_.push_back(
                ports_[i].receive_with(where, [this, i](message one) { handle(i, one); }));
        }
    }

    void send(std::uint64_t to, message one) {
        static_cast<void>(ports_[to].try_send(message{one}));
    }

private:
    void handle(std::uint64_t self, message one) {
        if (one.is_parent) {
            const std::uint64_t count = ports_.size();
            for (std::uint64_t i = 0; i != count; ++i) send((self + i) % count, {});
        }
        tally::add();
    }

    std::vector<fairlead::port<message>> ports_;
    std::vector<fairlead::port_receiver> receivers_;  // end before their ports
};

template <fairlead::policy Policy>
std::optional<measurement> measure_ports(const options& asked) {
    if (asked.name != "ports") return std::nullopt;
    fairlead::scheduler scheduler{
        {.workers = static_cast<unsigned>(asked.workers), .policy = Policy}};
    mailboxes all{scheduler, asked.count};
    const auto send = [&](std::uint64_t index) { all.send(index, {.is_parent = true}); };
    run_parents(asked.count / 10, asked.count, send);
    return run_parents(asked.count, asked.count, send);
}

template <fairlead::policy Policy>
std::optional<measurement> measure_group(const options& asked) {
    if (asked.name != "ports") return std::nullopt;
    fairlead::scheduler scheduler{
        {.workers = static_cast<unsigned>(asked.workers), .policy = Policy}};
    const fairlead::group all{scheduler, {.name = "messages"}};
    const std::uint64_t count = asked.count;
    const auto send = [&](std::uint64_t) {
        all.post([&all, count] {
            for (std::uint64_t i = 0; i != count; ++i) all.post([] { tally::add(); });
            tally::add();
        });
    };
    run_parents(count / 10, count, send);
    return run_parents(count, count, send);
}

}  // namespace bench::w4
