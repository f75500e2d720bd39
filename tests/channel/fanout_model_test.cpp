// A broadcast and a watch against models of them, in virtual time: random operations, and what each
// task gets must be what the model says.
#include <fairlead/channel/broadcast.hpp>
#include <fairlead/channel/watch.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace fairlead::fanout_model_tests {
namespace {

using namespace std::chrono_literals;
using test::below;
using test::simulated_scheduler;

// A value, or why there is none.
constexpr int code(wait_error why) { return -1 - static_cast<int>(why); }
int code(const waited<held<const int>>& what) { return what ? **what : code(what.error()); }
int code(const waited<void>& what) { return what ? 0 : code(what.error()); }

// What a task of the program got, and what the model says. The task may still wait.
struct wait_of_task {
    std::optional<join_handle<int>> task{};
    std::optional<int> should_be{};
    time_point deadline = never;

    [[nodiscard]] bool waits() const { return task.has_value() && !should_be; }
    void check() {
        if (!task) return;
        ASSERT_EQ(task->ended(), should_be.has_value());
        if (!should_be) return;
        EXPECT_EQ(std::exchange(task, std::nullopt)->get(),
                  *std::exchange(should_be, std::nullopt));
    }
};

// --- broadcast -----------------------------------------------------------------------------------

class broadcast_run {
public:
    explicit broadcast_run(std::mt19937_64& random)
        : random_{random},
          lag_{static_cast<lag>(below(random, 3))},
          capacity_{1 + below(random, std::uint64_t{4})},
          real_{static_cast<std::size_t>(capacity_), lag_} {}
    ~broadcast_run() {
        if (!closed_) close();
        settle();
    }

    void operate() {
        switch (below(random_, 14)) {
            case 0:
            case 1:
            case 2:
                return send();
            case 3:
                return try_send();
            case 4:
            case 5:
            case 6:
                return with_idle_sub([this](sub& which) { receive(which); });
            case 7:
            case 8:
                return with_idle_sub([this](sub& which) { try_receive(which); });
            case 9:
                return subscribe();
            case 10:
                return with_idle_sub([this](sub& which) { unsubscribe(which); });
            case 11:
                return stop();
            case 12:
                return pass_time();
            default:
                if (below(random_, 20) == 0) close();
        }
    }

    void settle() {
        home_.run_for(time_span{0s});
        for (auto& each : senders_) each->wait.check();
        std::erase_if(senders_, [](const auto& each) { return !each->wait.task; });
        for (sub& each : subs_) {
            each.wait.check();
            if (!each.wait.task) {
                EXPECT_EQ(each.real.take_skipped(), std::exchange(each.skipped, 0U));
                EXPECT_EQ(each.real.fell_behind(), each.behind);
            }
        }
        EXPECT_EQ(real_.subscriptions(), subs_.size());
    }

private:
    struct sub {
        subscription<int> real;
        std::uint64_t next;
        std::uint64_t skipped = 0;
        bool behind = false;
        wait_of_task wait{};
    };
    struct sender {
        int value;
        wait_of_task wait{};
    };

    // --- the model ---

    [[nodiscard]] std::uint64_t end() const { return sent_.size(); }
    [[nodiscard]] std::uint64_t oldest() const { return end() < capacity_ ? 0 : end() - capacity_; }
    [[nodiscard]] bool has_room() const {
        return lag_ != lag::wait || end() < capacity_ ||
               std::ranges::none_of(subs_, [&](const sub& of) { return of.next <= oldest(); });
    }
    void publish(int value) {
        sent_.push_back(value);
        for (sub& each : subs_) {
            if (!each.wait.waits()) continue;
            each.wait.should_be = value;
            ++each.next;
        }
    }
    void admit() {
        for (auto& each : senders_) {
            if (!each->wait.waits() || !has_room()) continue;
            publish(each->value);
            each->wait.should_be = 0;
        }
    }
    std::optional<int> received(sub& by) {
        if (by.next < oldest()) {
            by.behind = lag_ == lag::close;
            if (by.behind) return code(wait_error::closed);
            by.skipped += oldest() - by.next;
            by.next = oldest();
        }
        if (by.next != end()) {
            const int value = sent_[by.next++];
            admit();
            return value;
        }
        return closed_ ? std::optional{code(wait_error::closed)} : std::nullopt;
    }
    std::optional<int> sending(int value) {
        if (closed_) return code(wait_error::closed);
        if (!has_room()) return std::nullopt;
        publish(value);
        return 0;
    }

    // --- operations ---

    time_point some_deadline() {
        return below(random_, 3) == 0 ? after(home_.clock().now(), duration{1ms}) : never;
    }

    void send() {
        const int value = next_value_++;
        const time_point deadline = some_deadline();
        const auto body = [](broadcast<int>& into, int what, time_point until) -> task<int> {
            const auto sent = co_await into.send(what, until);
            co_return code(sent);
        };
        const auto should_be = sending(value);
        auto& one = *senders_.emplace_back(std::make_unique<sender>(value));
        one.wait = {spawn(home_, body(real_, value, deadline)), should_be, deadline};
        home_.run_for(time_span{0s});
    }
    void try_send() {
        const int value = next_value_++;
        const auto should_be = sending(value);
        EXPECT_EQ(code(real_.try_send(int{value})),
                  should_be.value_or(code(wait_error::would_wait)));
    }
    void receive(sub& by) {
        const time_point deadline = some_deadline();
        const auto body = [](subscription<int>& from, time_point until) -> task<int> {
            const auto next = co_await from.receive(until);
            co_return code(next);
        };
        const auto should_be = received(by);
        by.wait = {spawn(home_, body(by.real, deadline)), should_be, deadline};
        home_.run_for(time_span{0s});
    }
    void try_receive(sub& by) {
        EXPECT_EQ(code(by.real.try_receive()), received(by).value_or(code(wait_error::would_wait)));
    }
    void subscribe() {
        if (subs_.size() == 4) return;
        const std::uint64_t replay = below(random_, capacity_ + 2);
        const std::uint64_t first = end() - std::min(replay, end() - oldest());
        subs_.push_back({real_.subscribe(static_cast<std::size_t>(replay)), first});
    }
    void unsubscribe(const sub& which) {
        subs_.remove_if([&](const sub& each) { return &each == &which; });
        admit();
    }
    void stop() {
        std::vector<wait_of_task*> waiting;
        for (auto& each : senders_) waiting.push_back(&each->wait);
        for (sub& each : subs_) waiting.push_back(&each.wait);
        std::erase_if(waiting, [](const wait_of_task* each) { return !each->waits(); });
        if (waiting.empty()) return;
        wait_of_task& one = *waiting[below(random_, waiting.size())];
        one.task->request_stop();
        one.should_be = code(wait_error::stopped);
    }
    void pass_time() {
        home_.run_for(time_span{1ms});
        const auto expire = [&](wait_of_task& each) {
            if (each.waits() && each.deadline <= home_.clock().now()) {
                each.should_be = code(wait_error::expired);
            }
        };
        for (auto& each : senders_) expire(each->wait);
        for (sub& each : subs_) expire(each.wait);
    }
    void close() {
        EXPECT_EQ(real_.close(), !std::exchange(closed_, true));
        const auto end = [](wait_of_task& each) {
            if (each.waits()) each.should_be = code(wait_error::closed);
        };
        for (auto& each : senders_) end(each->wait);
        for (sub& each : subs_) end(each.wait);
    }
    template <class Function>
    void with_idle_sub(Function function) {
        std::vector<sub*> idle;
        for (sub& each : subs_) {
            if (!each.wait.task) idle.push_back(&each);
        }
        if (!idle.empty()) function(*idle[below(random_, idle.size())]);
    }

    std::mt19937_64& random_;
    const lag lag_;
    const std::uint64_t capacity_;
    broadcast<int> real_;
    simulated_scheduler home_;
    std::vector<int> sent_;
    std::deque<std::unique_ptr<sender>> senders_;
    std::list<sub> subs_;
    bool closed_ = false;
    int next_value_ = 1;
};

TEST(FanoutAgainstModels, ABroadcastDoesWhatItSays) {
    test::for_each_seed(1000, [](std::mt19937_64& random) {
        broadcast_run run{random};
        for (int i = 0; i != 200 && !testing::Test::HasFailure(); ++i) {
            run.operate();
            run.settle();
        }
    });
}

// --- watch ---------------------------------------------------------------------------------------

class watch_run {
public:
    explicit watch_run(std::mt19937_64& random) : random_{random} {}
    ~watch_run() {
        if (!closed_) close();
        settle();
    }

    void operate() {
        switch (below(random_, 12)) {
            case 0:
            case 1:
                return set();
            case 2:
                return update();
            case 3:
            case 4:
            case 5:
                return with_idle([this](one_watcher& by) { changed(by); });
            case 6:
                return with_idle([this](one_watcher& by) { try_changed(by); });
            case 7:
                return with_idle([this](one_watcher& by) { wait_for(by); });
            case 8:
                return subscribe();
            case 9:
                return with_idle([this](one_watcher& by) {
                    watchers_.remove_if([&](const one_watcher& each) { return &each == &by; });
                });
            case 10:
                return stop_or_expire();
            default:
                if (below(random_, 30) == 0) close();
        }
    }

    void settle() {
        home_.run_for(time_span{0s});
        for (one_watcher& each : watchers_) {
            each.wait.check();
            if (!each.wait.task) {
                EXPECT_EQ(each.real.has_changed(), each.seen != version_);
            }
        }
        EXPECT_EQ(*real_.get(), value_);
    }

private:
    struct one_watcher {
        watcher<int> real;
        int seen;
        int at_least = 0;  // of a wait for a value
        wait_of_task wait{};
    };

    std::optional<int> sees(one_watcher& by) const {
        while (by.seen != version_) {
            by.seen = version_;
            if (value_ >= by.at_least) return value_;
        }
        return closed_ ? std::optional{code(wait_error::closed)} : std::nullopt;
    }
    void publish(int value) {
        value_ = value;
        ++version_;
    }
    // Every task that waits goes on now, and sees the newest value.
    void run() {
        home_.run_for(time_span{0s});
        for (one_watcher& each : watchers_) {
            if (each.wait.waits()) each.wait.should_be = sees(each);
        }
    }

    void set() {
        const int value = below(random_, 100);
        EXPECT_EQ(real_.set(int{value}), !closed_);
        if (!closed_) publish(value);
        // A second one, before the tasks have run: the first is skipped.
        if (below(random_, 2) == 0) {
            EXPECT_EQ(real_.set(value + 1), !closed_);
            if (!closed_) publish(value + 1);
        }
        run();
    }
    void update() {
        const bool changes = below(random_, 2) == 0;
        const bool done = real_.update([&](int& value) {
            ++value;
            return changes;
        });
        EXPECT_EQ(done, changes && !closed_);
        if (done) publish(value_ + 1);
        run();
    }
    void changed(one_watcher& by) {
        by.at_least = 0;
        by.wait.deadline = some_deadline();
        const auto body = [](watcher<int>& from, time_point deadline) -> task<int> {
            const auto next = co_await from.changed(deadline);
            co_return code(next);
        };
        by.wait.task = spawn(home_, body(by.real, by.wait.deadline));
        run();
    }
    void wait_for(one_watcher& by) {
        by.at_least = below(random_, 120);
        by.wait.deadline = some_deadline();
        const auto body = [](watcher<int>& from, int least, time_point deadline) -> task<int> {
            const auto enough = [least](int value) { return value >= least; };
            const auto next = co_await from.wait_for(enough, deadline);
            co_return code(next);
        };
        by.seen = -1;  // it looks at once
        by.wait.task = spawn(home_, body(by.real, by.at_least, by.wait.deadline));
        run();
    }
    void try_changed(one_watcher& by) {
        by.at_least = 0;
        EXPECT_EQ(code(by.real.try_changed()), sees(by).value_or(code(wait_error::would_wait)));
    }
    void subscribe() {
        if (watchers_.size() == 4) return;
        const bool seen = below(random_, 2) == 0;
        watchers_.push_back({real_.subscribe(seen ? initial::seen : initial::unseen),
                             seen ? version_ : version_ - 1});
    }
    void stop_or_expire() {
        const bool stops = below(random_, 2) == 0;
        if (!stops) home_.run_for(time_span{1ms});
        for (one_watcher& each : watchers_) {
            if (!each.wait.waits()) continue;
            if (stops) {
                each.wait.task->request_stop();
                each.wait.should_be = code(wait_error::stopped);
            } else if (each.wait.deadline <= home_.clock().now()) {
                each.wait.should_be = code(wait_error::expired);
            }
        }
    }
    void close() {
        EXPECT_EQ(real_.close(), !std::exchange(closed_, true));
        run();
    }
    time_point some_deadline() {
        return below(random_, 3) == 0 ? after(home_.clock().now(), duration{1ms}) : never;
    }
    template <class Function>
    void with_idle(Function function) {
        std::vector<one_watcher*> idle;
        for (one_watcher& each : watchers_) {
            if (!each.wait.task) idle.push_back(&each);
        }
        if (!idle.empty()) function(*idle[below(random_, idle.size())]);
    }

    std::mt19937_64& random_;
    watch<int> real_{0};
    simulated_scheduler home_;
    std::list<one_watcher> watchers_;
    int value_ = 0;
    int version_ = 1;
    bool closed_ = false;
};

TEST(FanoutAgainstModels, AWatchDoesWhatItSays) {
    test::for_each_seed(1000, [](std::mt19937_64& random) {
        watch_run run{random};
        for (int i = 0; i != 200 && !testing::Test::HasFailure(); ++i) {
            run.operate();
            run.settle();
        }
    });
}

}  // namespace
}  // namespace fairlead::fanout_model_tests
