// Groups of a scheduler that runs on this thread in simulated time: of any weight, priority, limit,
// rate and bound, that are posted to from outside and by steps, sleep, are paused and resumed, and
// dropped while they have tasks.
//
// The model has a line for each group: what was posted without a permit, and what with one, in
// order; which tasks sleep until when; and a bucket of tokens. From that follows:
//   - plain posts of a group run in their order, and those with permits in theirs;
//   - the time of all steps of a group is what it is charged, to the nanosecond;
//   - no token is lost and none is made: when all is idle, a task waits for its rate only if the
//     bucket is empty;
//   - tasks with deadlines, which in some groups go first, do not change these orders;
//   - one call runs everything that may run, also what is due at exactly this moment;
//   - what is paused begins no step beyond what was dealt before;
//   - permits are refused if, and only if, all are taken;
//   - each task runs once, or is dropped where it may be.
#pragma once

#include "fuzz/input.hpp"

#include "support/simulated.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::fuzz {

using namespace std::chrono_literals;

// The tokens of the model. It takes a token at the beginning of a step, later than the library
// does.
class reference_bucket {
public:
    reference_bucket(double per_second, unsigned burst, time_point now)
        : interval_{std::chrono::ceil<duration>(std::chrono::duration<double>{1 / per_second})},
          burst_{static_cast<double>(burst)},
          at_{now} {
        tokens_ = burst_;
    }

    void use_one(time_point now) {
        earn(now);
        tokens_ -= 1;
        // The library may have dealt the task a turn and a step before, and taken the token then.
        FAIRLEAD_ASSERT(tokens_ > -2 - of(5ms), "the rate is not exceeded");
    }
    [[nodiscard]] bool has_one(time_point now) {
        earn(now);
        return tokens_ > 1 + 1e-6;
    }

private:
    void earn(time_point now) {
        tokens_ = std::min(burst_, tokens_ + of(now - std::exchange(at_, now)));
    }
    [[nodiscard]] double of(duration time) const {
        return static_cast<double>(time.count()) / static_cast<double>(interval_.count());
    }

    duration interval_;
    double burst_;
    double tokens_ = 0;
    time_point at_;
};

template <class Group = group>
class groups_check {
public:
    explicit groups_check(input bytes) : bytes_{bytes} {
        home_.emplace(test::simulated(clock_, driver_));
        for (tenant& each : tenants_) make(each);
    }

    void run() {
        while (!bytes_.empty()) operate();
        ending_ = true;
        for (tenant& each : tenants_) resume(each);
        FAIRLEAD_ASSERT(home_->drain_for(1h), "all can run at last");
        for (tenant& each : tenants_) require_over(each);
        for (tenant& each : tenants_) each.own.reset();
        home_.reset();
    }

private:
    static constexpr std::size_t dealt_max = 64;  // in one turn
    static constexpr std::size_t posts_max = 3'000;

    struct tenant;

    // A task. It lives as long as the callable that was posted for it.
    class ticket {
    public:
        ticket(groups_check& of, tenant& in, bool permitted, std::uint64_t number)
            : of_{&of}, in_{&in}, permitted_{permitted}, number_{number} {}
        ticket(ticket&& other) noexcept
            : of_{std::exchange(other.of_, nullptr)},
              in_{other.in_},
              permitted_{other.permitted_},
              number_{other.number_} {}
        ticket& operator=(ticket&&) = delete;
        ~ticket() {
            if (of_ != nullptr) of_->on_drop(*in_, permitted_, number_);
        }
        void operator()() { std::exchange(of_, nullptr)->on_step(*in_, permitted_, number_); }

    private:
        groups_check* of_;
        tenant* in_;
        bool permitted_;
        std::uint64_t number_;
    };

    struct sleeper final : callback_task {
        sleeper() noexcept
            : callback_task{[](callback_task& self) {
                  auto& own = static_cast<sleeper&>(self);
                  own.home->on_sleeper(own);
              }} {}

        groups_check* home = nullptr;
        tenant* in = nullptr;
        bool posted = false;
        bool woken = false;
        time_point due{};
    };

    struct tenant {
        std::optional<Group> own;
        group_options options;
        std::optional<reference_bucket> bucket;
        std::array<sleeper, 3> sleepers;
        std::deque<std::uint64_t> plain;      // posted, in order
        std::deque<std::uint64_t> permitted;  // those with a permit
        std::deque<std::uint64_t>
            doomed;  // a later one has run: they are dropped, in a step to come
        bool paused = false;
        std::size_t may_begin = 0;  // steps, though it is paused
        std::size_t urgent = 0;     // tasks with a deadline
        std::uint64_t steps = 0;
        std::uint64_t dropped = 0;
        std::uint64_t refused = 0;
        duration used{};
    };

    void make(tenant& one) {
        one.options.weight = 1U + static_cast<unsigned>(bytes_.below(300));
        one.options.priority = static_cast<priority>(bytes_.below(4));
        one.options.max_concurrency = static_cast<unsigned>(bytes_.below(4));
        one.options.slice = 1us * (10 + static_cast<int>(bytes_.byte()) * 10);
        one.options.queue_max = std::array<std::size_t, 4>{0, 0, 2, 20}[bytes_.below(4)];
        one.options.drop_oldest = one.options.queue_max != 0 && bytes_.flag();
        one.options.rate_max = std::array{0.0, 0.0, 300.0, 1'000.0, 20'000.0}[bytes_.below(5)];
        one.options.rate_burst = std::array{1U, 4U, 50U}[bytes_.below(3)];
        one.options.earliest_deadline_first = !one.options.drop_oldest && bytes_.flag();
        one.options.bound = bytes_.below(4) == 0;
        one.own.emplace(*home_, one.options);
        if (one.options.rate_max != 0) {
            one.bucket.emplace(one.options.rate_max, one.options.rate_burst, clock_.now());
        }
        for (sleeper& each : one.sleepers) {
            each.home = this;
            each.in = &one;
        }
    }

    void operate() {
        tenant& one = any();
        switch (bytes_.below(14)) {
            case 0:
            case 1:
                for (std::size_t left = some(); left != 0; --left) post_plain(one);
                break;
            case 2:
            case 3:
                for (std::size_t left = some(); left != 0; --left) post_with_permit(one);
                break;
            case 4:
                sleep(one);
                break;
            case 5:
                wake(one);
                break;
            case 6:
                clock_.advance(tick * static_cast<int>(bytes_.below(20)));
                break;
            case 7:
            case 8:
                run_until_idle();
                break;
            case 9:
                idle_ = false;
                static_cast<void>(home_->run_until(clock_.now(), 1 + bytes_.below(30)));
                break;
            case 10:
                one.paused ? resume(one) : pause(one);
                break;
            case 11:
            case 12:
                for (std::size_t left = some(); left != 0; --left) spawn_urgent(one);
                break;
            default:
                change(one);
        }
    }

    // One, or a burst.
    std::size_t some() { return bytes_.below(3) != 0 ? 1 : 1 + bytes_.below(80); }

    void change(tenant& one) {
        const std::size_t how = bytes_.below(8);
        if (!one.own) return;
        if (how == 0) {
            one.own.reset();  // this resumes the group
            one.paused = false;
        } else if (how < 4) {
            one.own->set_max_concurrency(static_cast<unsigned>(how) - 1);
        } else {
            one.own->set_weight(1 + 37 * static_cast<unsigned>(how));
        }
    }

    // --- posts -----------------------------------------------------------------------------------

    void post_plain(tenant& to) {
        if (!may_post(to)) return;
        to.plain.push_back(++posts_);
        to.own->post(ticket{*this, to, false, posts_});
    }

    void post_with_permit(tenant& to) {
        if (!may_post(to)) return;
        const bool free = to.options.queue_max == 0 || to.options.drop_oldest ||
                          to.permitted.size() < to.options.queue_max;
        permit one = to.own->try_permit();
        FAIRLEAD_ASSERT(static_cast<bool>(one) == free, "a permit is refused if all are taken");
        if (!free) {
            ++to.refused;
            return;
        }
        to.permitted.push_back(++posts_);
        std::move(one).post(ticket{*this, to, true, posts_});
    }

    // A step without a deadline, and one or two with one.
    void spawn_urgent(tenant& in) {
        if (!may_post(in)) return;
        ++posts_;
        ++in.urgent;
        const duration left = 100h + tick * static_cast<int>(bytes_.below(50));
        spawn(*in.own, urgent(*this, in, left, 1 + bytes_.below(2))).detach();
    }
    static task<> urgent(groups_check& of, tenant& in, duration left, std::size_t steps) {
        of.begin(in);
        static_cast<void>(co_await with_deadline(left, urgent_steps(of, in, steps)));
        --in.urgent;
    }
    static task<> urgent_steps(groups_check& of, tenant& in, std::size_t steps) {
        for (; steps != 0; --steps) {
            co_await yield();
            of.begin(in);
        }
    }

    void sleep(tenant& in) {
        sleeper& one = in.sleepers[bytes_.below(in.sleepers.size())];
        if (one.posted || !may_post(in)) return;
        one.posted = true;
        one.woken = false;
        one.due = clock_.now() + short_step * static_cast<int>(bytes_.below(100));
        in.own->post_deadline(one, one.due);
    }

    void wake(tenant& in) {
        sleeper& one = in.sleepers[bytes_.below(in.sleepers.size())];
        one.woken |= one.posted;
        if (one.posted) one.wakeup();
    }

    [[nodiscard]] bool may_post(const tenant& to) {
        idle_ = false;
        return to.own && !ending_ && posts_ < posts_max;
    }

    void pause(tenant& one) {
        if (!one.own) return;
        one.own->pause();
        one.paused = true;
        one.may_begin = idle_ ? 0 : dealt_max;
    }

    void resume(tenant& one) {
        if (!one.own) return;
        one.own->resume();
        one.paused = false;
        idle_ = false;
    }

    // --- steps -----------------------------------------------------------------------------------

    void on_step(tenant& of, bool permitted, std::uint64_t number) {
        std::deque<std::uint64_t>& line = permitted ? of.permitted : of.plain;
        while (permitted && of.options.drop_oldest && !line.empty() && line.front() < number) {
            of.doomed.push_back(line.front());
            line.pop_front();
        }
        FAIRLEAD_ASSERT(!line.empty() && line.front() == number,
                        "a group keeps the order of posts");
        line.pop_front();
        if (permitted && of.bucket) of.bucket->use_one(clock_.now());
        begin(of);
    }

    void on_sleeper(sleeper& one) {
        FAIRLEAD_ASSERT(std::exchange(one.posted, false), "a step for each post");
        FAIRLEAD_ASSERT(one.woken || one.due <= clock_.now(), "no step is early");
        begin(*one.in);
    }

    void on_drop(tenant& of, bool permitted, std::uint64_t number) {
        FAIRLEAD_ASSERT(permitted && of.options.drop_oldest, "nothing is dropped that may not be");
        const std::size_t found = std::erase(of.permitted, number) + std::erase(of.doomed, number);
        FAIRLEAD_ASSERT(found == 1, "it is dropped once, and has not run");
        ++of.dropped;
    }

    // Runs a step. Most steps are short, a few are long, and some end exactly when a sleeper is
    // due.
    void begin(tenant& of) {
        if (of.paused) {
            FAIRLEAD_ASSERT(of.may_begin != 0, "what is paused begins no step");
            --of.may_begin;
        }
        const std::uint8_t what = bytes_.byte();
        const duration length = what < 128   ? short_step
                                : what < 200 ? tick * (what % 8)
                                : what < 250 ? until_next_sleeper()
                                             : 2ms;
        clock_.advance(length);
        ++of.steps;
        of.used += length;
        if (ending_) return;
        if (what % 16 == 1) post_plain(any());
        if (what % 16 == 2) post_with_permit(any());
        if (what % 16 == 3) sleep(any());
        if (what % 64 == 4) pause(any());
        if (what % 32 == 5) resume(any());
    }

    // To the moment at which one is due, if that is soon.
    [[nodiscard]] duration until_next_sleeper() const {
        duration least = 5ms;
        for (const tenant& each : tenants_) {
            for (const sleeper& one : each.sleepers) {
                const duration left = one.due - clock_.now();
                if (one.posted && left > duration{}) least = std::min(least, left);
            }
        }
        return least == 5ms ? short_step : least;
    }

    // --- the model -------------------------------------------------------------------------------

    void run_until_idle() {
        home_->run_until_idle();
        idle_ = true;
        for (tenant& each : tenants_) {
            FAIRLEAD_ASSERT(each.doomed.empty(), "what is dropped is given back at once");
            if (!each.paused) require_idle(each);
        }
    }

    void require_idle(tenant& one) {
        FAIRLEAD_ASSERT(one.plain.empty() && one.urgent == 0, "nothing is left that could run");
        if (!one.permitted.empty()) {
            FAIRLEAD_ASSERT(one.bucket, "what has no rate does not wait for it");
            FAIRLEAD_ASSERT(!one.bucket->has_one(clock_.now()), "no token is lost");
        }
        for (const sleeper& each : one.sleepers) {
            FAIRLEAD_ASSERT(!each.posted || (!each.woken && each.due > clock_.now()),
                            "what is due now has run");
        }
    }

    void require_over(tenant& one) {
        FAIRLEAD_ASSERT(
            one.plain.empty() && one.permitted.empty() && one.doomed.empty() && one.urgent == 0,
            "each task has run or is dropped");
        if (!one.own) return;
        const group_stats all = one.own->stats();
        FAIRLEAD_ASSERT(all.steps == one.steps, "each step is counted");
        FAIRLEAD_ASSERT(all.used == one.used, "a group is charged the time of its steps");
        FAIRLEAD_ASSERT(all.dropped == one.dropped, "each drop is counted");
        FAIRLEAD_ASSERT(all.refused == one.refused, "each refusal is counted");
        FAIRLEAD_ASSERT(all.tasks == 0 && all.queued == 0, "nothing is left of it");
    }

    tenant& any() { return tenants_[bytes_.below(tenants_.size())]; }

    static constexpr duration short_step = 20us;
    static constexpr duration tick = 5 * short_step;

    input bytes_;
    test::manual_clock clock_;
    test::simulated_driver* driver_ = nullptr;
    std::optional<scheduler> home_;
    std::array<tenant, 4> tenants_;
    std::uint64_t posts_ = 0;
    bool idle_ = true;  // each dealt task has begun
    bool ending_ = false;
};

}  // namespace fairlead::fuzz
