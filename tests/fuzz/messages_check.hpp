// Ports with receivers, choices, gathers and joins, on this thread in simulated time. They are sent
// to, with and without deadlines, paused, resumed, ended and closed in any order.
//
// The model has the messages of each port in the order of their sends, and what became of each.
// From that follows, whenever all is idle:
//   - a message that was taken is handled once, by one consumer, and never after its deadline;
//   - the messages that are left in a port are the last ones: what was taken or dropped came
//     before;
//   - nothing that could be taken is left: a receiver, a choice or a gather that runs and has a
//     free handler has empty ports; a join has one empty port;
//   - a join takes as many messages of one port as of the other;
//   - a choice and a one-shot receiver call one handler, a gather calls one, with as many messages
//     as it was told unless it has ended before;
//   - a receiver has ended if, and only if, it has nothing more to do.
#pragma once

#include "fuzz/input.hpp"

#include "support/simulated.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/message/choice.hpp>
#include <fairlead/message/join.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::fuzz {

using namespace std::chrono_literals;

template <class Port = port<int>>
class messages_check {
public:
    explicit messages_check(input bytes) : bytes_{bytes} {
        home_.emplace(test::simulated(clock_, driver_));
        for (std::size_t i = 0; i != ports_.size(); ++i) ports_[i].open(bytes_);
    }

    void run() {
        while (!bytes_.empty()) {
            one_operation();
            if (bytes_.below(3) != 0) settle();
        }
        for (auto& each : consumers_) end(*each);
        settle();
        FAIRLEAD_ASSERT(home_->drain_for(24h), "all tasks end");
        for (auto& each : consumers_) {
            FAIRLEAD_ASSERT(each->handle->has_ended(), "what was ended has ended");
        }
    }

private:
    enum class fate : std::uint8_t { waits, handled, dropped };
    enum class kind : std::uint8_t { receiver, choice, gather, join };

    struct message {
        time_point deadline;
        fate now = fate::waits;
    };

    struct place {
        void open(input& bytes) {
            const std::size_t capacity = bytes.below(2) == 0 ? Port::unbounded : 1 + bytes.below(4);
            policy = bytes.flag() ? when_full::drop_oldest : when_full::wait;
            to = std::make_unique<Port>(capacity, policy);
            to->on_dropped([this](int which) { drop(which); });
        }
        void drop(int which) {
            message& one = all.at(static_cast<std::size_t>(which));
            FAIRLEAD_ASSERT(one.now == fate::waits, "a message has one fate");
            one.now = fate::dropped;
        }

        when_full policy = when_full::wait;
        std::vector<message> all;
        bool is_closed = false;
        std::unique_ptr<Port> to;  // drops what is left when it goes
    };

    struct consumer {
        kind what = kind::receiver;
        std::size_t first = 0;
        std::size_t second = 0;
        std::size_t at_most = 1;
        std::size_t left = 0;    // calls, of which there may be no more; 0: any number
        std::size_t wanted = 0;  // messages of a gather
        std::size_t calls = 0;
        std::size_t running = 0;
        std::array<std::size_t, 2> taken{};
        bool is_paused = false;
        bool is_ended = false;
        std::optional<port_receiver> handle;
    };

    // --- handlers --------------------------------------------------------------------------------

    void handled(place& from, int which) {
        message& one = from.all.at(static_cast<std::size_t>(which));
        FAIRLEAD_ASSERT(one.now == fate::waits, "a message has one fate");
        FAIRLEAD_ASSERT(one.deadline == never || clock_.now() < one.deadline,
                        "an overdue message is not handled");
        one.now = fate::handled;
    }
    task<> call(consumer& self, std::chrono::milliseconds length) {
        ++self.calls;
        FAIRLEAD_ASSERT(++self.running <= self.at_most, "at most so many handlers run");
        FAIRLEAD_ASSERT(self.left == 0 || self.calls <= self.left, "no call too many");
        if (length != 0ms) {
            // The deadline of a message may end the wait: that is not counted here.
            static_cast<void>(co_await as_result(sleep_for(length)));
        }
        --self.running;
    }
    task<> take_one(consumer& self, std::size_t side, int which, std::chrono::milliseconds length) {
        handled(ports_[side == 0 ? self.first : self.second], which);
        ++self.taken[side];
        co_await call(self, length);
    }
    task<> take_pair(consumer& self, int first, int second, std::chrono::milliseconds length) {
        handled(ports_[self.first], first);
        handled(ports_[self.second], second);
        ++self.taken[0];
        ++self.taken[1];
        co_await call(self, length);
    }
    task<> take_many(consumer& self, std::vector<int> first, std::vector<int> second) {
        self.taken = {first.size(), second.size()};
        FAIRLEAD_ASSERT(first.size() + second.size() == self.wanted || self.is_ended ||
                            (is_drained(self.first) && is_drained(self.second)),
                        "a gather has as many as it was told");
        for (const int each : first) gathered(ports_[self.first], each);
        for (const int each : second) gathered(ports_[self.second], each);
        co_await call(self, 0ms);
    }
    // Taken before, when it was in time.
    void gathered(place& from, int which) {
        message& one = from.all.at(static_cast<std::size_t>(which));
        FAIRLEAD_ASSERT(one.now == fate::waits, "a message has one fate");
        one.now = fate::handled;
    }

    // --- operations ------------------------------------------------------------------------------

    void one_operation() {
        switch (bytes_.below(8)) {
            case 0:
                if (consumers_.size() != 12) attach();
                break;
            case 1:
                if (!consumers_.empty()) steer(*consumers_[bytes_.below(consumers_.size())]);
                break;
            case 2:
                if (bytes_.below(8) == 0) close(ports_[bytes_.below(ports_.size())]);
                break;
            case 3:
                clock_.advance((1 + bytes_.below(3)) * 1ms);
                break;
            case 4:
                send_within((1 + bytes_.below(4)) * 1ms);
                break;
            default:
                send(ports_[bytes_.below(ports_.size())], never);
        }
    }

    void send(place& to, time_point deadline) {
        const auto number = static_cast<int>(to.all.size());
        to.all.push_back({deadline});
        const std::size_t before = to.to->length();
        const waited<void> sent = to.to->try_send(int{number});
        if (sent) return;
        FAIRLEAD_ASSERT(to.all.back().now == fate::waits, "a send that fails drops nothing");
        to.all.pop_back();
        if (to.is_closed) {
            FAIRLEAD_ASSERT(sent.error() == wait_error::closed, "a closed port says so");
        } else {
            FAIRLEAD_ASSERT(sent.error() == wait_error::would_wait && before != 0 &&
                                to.policy == when_full::wait,
                            "a send fails only if there is no place");
        }
    }
    void send_within(std::chrono::milliseconds limit) {
        place& to = ports_[bytes_.below(ports_.size())];
        const auto sends = [this, limit](place& into) -> task<int> {
            send(into, clock_.now() + limit);
            co_return 0;
        };
        spawn(*home_, with_deadline(limit, sends(to))).detach();
        home_->run_until_idle();
    }

    void attach() {
        auto made = std::make_unique<consumer>();
        consumer& self = *made;
        consumers_.push_back(std::move(made));
        self.what = static_cast<kind>(bytes_.below(4));
        self.first = bytes_.below(ports_.size());
        self.second = (self.first + 1 + bytes_.below(ports_.size() - 1)) % ports_.size();
        const std::chrono::milliseconds length = bytes_.below(3) * 1ms;
        port<int>& first = *ports_[self.first].to;
        port<int>& second = *ports_[self.second].to;
        const auto one = [this, &self, length](int which) {
            return take_one(self, 0, which, length);
        };
        const auto other = [this, &self, length](int which) {
            return take_one(self, 1, which, length);
        };
        receiver_options options;
        if (self.what == kind::receiver || self.what == kind::join) {
            if (bytes_.below(4) == 0) {
                options.mode = receiver_mode::one_shot;
                self.left = 1;
            } else {
                options.at_most = self.at_most = 1 + bytes_.below(3);
            }
        } else {
            self.left = 1;
        }
        switch (self.what) {
            case kind::receiver:
                self.handle.emplace(first.receive_with(*home_, one, options));
                break;
            case kind::choice:
                self.handle.emplace(choice(*home_, from(first, one), from(second, other)));
                break;
            case kind::gather:
                self.wanted = 1 + bytes_.below(4);
                self.handle.emplace(gather(
                    *home_, self.wanted,
                    [this, &self](std::vector<int> a, std::vector<int> b) {
                        return take_many(self, std::move(a), std::move(b));
                    },
                    first, second));
                break;
            case kind::join:
                self.handle.emplace(join(
                    *home_,
                    [this, &self, length](int a, int b) { return take_pair(self, a, b, length); },
                    options, first, second));
                break;
        }
    }

    void steer(consumer& self) {
        switch (bytes_.below(4)) {
            case 0:
                end(self);
                break;
            case 1:
                self.handle->pause();
                self.is_paused = true;
                break;
            default:
                self.handle->resume();
                self.is_paused = false;
        }
    }
    static void end(consumer& self) {
        self.handle->end();
        self.is_ended = true;
    }
    void close(place& which) {
        if (bytes_.flag()) {
            which.to->close_and_drop();
        } else {
            which.to->close();
        }
        which.is_closed = true;
    }

    // --- what holds when all is idle -------------------------------------------------------------

    void settle() {
        home_->run_until_idle();
        for (place& each : ports_) check(each);
        for (auto& each : consumers_) check(*each);
    }

    void check(place& of) {
        const std::size_t length = of.to->length();
        FAIRLEAD_ASSERT(length <= of.all.size(), "a port has what was sent");
        // What a gather has taken, and not given yet, waits in the model.
        for (std::size_t i = of.all.size() - length; i != of.all.size(); ++i) {
            FAIRLEAD_ASSERT(of.all[i].now == fate::waits, "what is left are the last messages");
        }
        std::size_t held = 0;
        for (std::size_t i = 0; i != of.all.size() - length; ++i) {
            if (of.all[i].now == fate::waits) ++held;
        }
        std::size_t gathers = 0;
        for (auto& each : consumers_) {
            if (each->what != kind::gather || each->calls != 0) continue;
            if (&ports_[each->first] == &of || &ports_[each->second] == &of) {
                gathers += each->wanted;
            }
        }
        FAIRLEAD_ASSERT(held <= gathers, "no message is lost");
    }

    [[nodiscard]] bool is_empty(std::size_t which) { return ports_[which].to->length() == 0; }
    [[nodiscard]] bool is_drained(std::size_t which) {
        return ports_[which].is_closed && is_empty(which);
    }

    void check(consumer& self) {
        const bool has_called = self.left != 0 && self.calls == self.left;
        const bool first = is_empty(self.first);
        const bool second = is_empty(self.second);
        const bool can_take =
            !self.is_ended && !self.is_paused && !has_called && self.running < self.at_most;
        bool must_end = self.is_ended || has_called;
        switch (self.what) {
            case kind::receiver:
                FAIRLEAD_ASSERT(!can_take || first, "what can be taken is taken");
                must_end = must_end || (!self.is_paused && is_drained(self.first));
                break;
            case kind::choice:
            case kind::gather:
                FAIRLEAD_ASSERT(!can_take || (first && second), "what can be taken is taken");
                must_end = must_end ||
                           (!self.is_paused && is_drained(self.first) && is_drained(self.second));
                break;
            case kind::join:
                FAIRLEAD_ASSERT(!can_take || first || second, "what can be joined is joined");
                FAIRLEAD_ASSERT(self.taken[0] == self.taken[1], "a join takes one of each");
                must_end = must_end ||
                           (!self.is_paused && (is_drained(self.first) || is_drained(self.second)));
                break;
        }
        const bool may_end = must_end || is_drained(self.first) ||
                             (self.what == kind::join && is_drained(self.second));
        const bool has_ended = self.handle->has_ended();
        FAIRLEAD_ASSERT(!has_ended || (may_end && self.running == 0), "it ends with a reason");
        FAIRLEAD_ASSERT(has_ended || !must_end || self.running != 0, "what is to end has ended");
        FAIRLEAD_ASSERT(self.handle->stats().handled == self.calls - self.running,
                        "calls are counted");
    }

    test::manual_clock clock_;
    test::simulated_driver* driver_ = nullptr;
    std::array<place, 3> ports_;
    std::vector<std::unique_ptr<consumer>> consumers_;
    std::optional<scheduler> home_;
    input bytes_;
};

}  // namespace fairlead::fuzz
