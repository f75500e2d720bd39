#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include "support/ending_of.hpp"
#include "support/probes.hpp"
#include "support/simulated_test.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::foreign_wait_tests {
namespace {

using namespace std::chrono_literals;
using test::simulated_driver;
using test::watchdog;

// The event of another library: it keeps a handle to resume later.
struct event {
    std::coroutine_handle<> waiting;

    struct awaiter {
        event& of;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> handle) const noexcept { of.waiting = handle; }
        [[nodiscard]] int await_resume() const noexcept { return 42; }
    };
};

class foreign_wait_test : public test::simulated_test {};

task<int> waits_for(event& it) { co_return co_await event::awaiter{it}; }

TEST_F(foreign_wait_test, a_resume_posts_the_task_and_does_not_run_it) {
    event it;
    auto handle = spawn(*simulation, waits_for(it));
    simulation->run_until_idle();
    ASSERT_TRUE(it.waiting);
    it.waiting.resume();
    EXPECT_FALSE(handle.ended()) << "this thread has only posted it";
    simulation->run_until_idle();
    EXPECT_EQ(handle.get(), 42);
}

// --- every form of an awaitable ------------------------------------------------------------------

struct resumes_inline {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const { handle.resume(); }
    [[nodiscard]] std::string await_resume() const { return "inline"; }
};

struct maybe_waits {
    event* to;  // null: the coroutine does not wait
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> handle) const noexcept {
        if (to == nullptr) return false;
        to->waiting = handle;
        return true;
    }
    [[nodiscard]] std::string await_resume() const { return to == nullptr ? "at once" : "later"; }
};

struct is_ready {
    [[nodiscard]] bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const { ADD_FAILURE(); }
    [[nodiscard]] std::string await_resume() const { return "ready"; }
};

// A coroutine of another library, to which the await transfers control.
struct other_coroutine {
    struct promise_type {
        [[nodiscard]] other_coroutine get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};
other_coroutine resumes(event& to) {
    to.waiting.resume();
    co_return;
}

struct transfers {
    event* to;
    enum { to_another, to_itself, to_nothing } where;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> handle) const {
        to->waiting = handle;
        if (where == to_itself) return handle;
        if (where == to_nothing) return std::noop_coroutine();
        return resumes(*to).handle;
    }
    [[nodiscard]] std::string await_resume() const { return "transferred"; }
};

struct by_member {
    [[nodiscard]] resumes_inline operator co_await() const noexcept { return {}; }
};
struct by_function {};
[[nodiscard]] resumes_inline operator co_await(by_function) noexcept { return {}; }

// An awaiter that can be neither copied nor moved: it must stay where the expression makes it.
struct cannot_move {
    explicit cannot_move(event& of) : to{of} {}
    cannot_move(const cannot_move&) = delete;
    cannot_move& operator=(const cannot_move&) = delete;
    ~cannot_move() { self = nullptr; }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const noexcept { to.waiting = handle; }
    [[nodiscard]] bool await_resume() const noexcept { return self == this; }
    event& to;
    const cannot_move* self = this;
};

struct gives_reference {
    int& number;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const { handle.resume(); }
    [[nodiscard]] int& await_resume() const noexcept { return number; }
};

TEST_F(foreign_wait_test, every_form_of_an_awaitable_is_awaited) {
    event it;
    int number = 1;
    const auto body = [&]() -> task<> {
        EXPECT_EQ(co_await resumes_inline{}, "inline");
        EXPECT_EQ(co_await maybe_waits{nullptr}, "at once");
        EXPECT_EQ(co_await is_ready{}, "ready");
        EXPECT_EQ(co_await by_member{}, "inline");
        EXPECT_EQ(co_await by_function{}, "inline");
        const transfers itself{&it, transfers::to_itself};
        EXPECT_EQ(co_await itself, "transferred");
        const transfers another{&it, transfers::to_another};
        EXPECT_EQ(co_await another, "transferred");
        int& given = co_await gives_reference{number};
        given = 7;
        co_await std::suspend_never{};
    };
    block_on(*simulation, body());
    EXPECT_EQ(number, 7);
}

TEST_F(foreign_wait_test, forms_that_wait_go_on_after_the_resume) {
    event it;
    const auto body = [&]() -> task<int> {
        const std::string later = co_await maybe_waits{&it};
        EXPECT_EQ(later, "later");
        const transfers nothing{&it, transfers::to_nothing};
        const std::string transferred = co_await nothing;
        EXPECT_EQ(transferred, "transferred");
        const bool stayed = co_await cannot_move{it};
        EXPECT_TRUE(stayed);
        cannot_move local{it};
        const bool local_stayed = co_await local;
        EXPECT_TRUE(local_stayed);
        co_return 4;
    };
    auto handle = spawn(*simulation, body());
    for (int i = 0; i != 4; ++i) {
        simulation->run_until_idle();
        ASSERT_TRUE(it.waiting) << i;
        std::exchange(it.waiting, nullptr).resume();
    }
    simulation->run_until_idle();
    EXPECT_EQ(handle.get(), 4);
}

// --- failures ------------------------------------------------------------------------------------

struct throws_on_suspend {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error{"suspend"}; }
    void await_resume() const { ADD_FAILURE(); }
};
struct throws_on_resume {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const { handle.resume(); }
    void await_resume() const { throw std::runtime_error{"resume"}; }
};

TEST_F(foreign_wait_test, exceptions_reach_the_coroutine) {
    static constexpr auto body = []() -> task<std::string> {
        std::string caught;
        try {
            co_await throws_on_suspend{};
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        try {
            co_await throws_on_resume{};
        } catch (const std::runtime_error& error) {
            caught += std::string{" "} + error.what();
        }
        co_await sleep_for(1s);  // the root works as before
        co_return caught;
    };
    EXPECT_EQ(block_on(*simulation, body()), "suspend resume");
}

// The other library gives up the wait, and destroys the handle that it takes for the coroutine.
TEST_F(foreign_wait_test, a_handle_that_is_destroyed_ends_the_wait) {
    event it;
    auto handle = spawn(*simulation, waits_for(it));
    simulation->run_until_idle();
    it.waiting.destroy();
    simulation->run_until_idle();
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
}

struct throwing_coroutine {
    struct promise_type {
        [[nodiscard]] throwing_coroutine get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};
throwing_coroutine resumes_and_throws(event& to) {
    to.waiting.resume();
    throw std::runtime_error{"of the other library"};
    co_return;
}

// The task may run on another thread when the other coroutine throws. So the task cannot get the
// exception.
TEST_F(foreign_wait_test, an_exception_of_the_next_coroutine_ends_the_program) {
    struct transfers_to_a_thrower {
        event* to;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> handle) const {
            to->waiting = handle;
            return resumes_and_throws(*to).handle;
        }
        void await_resume() const noexcept {}
    };
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    event it;
    const auto body = [&]() -> task<> {
        const transfers_to_a_thrower next{&it};
        co_await next;
    };
    EXPECT_DEATH(block_on(*simulation, body()), "of the other library");
}

// --- stops ---------------------------------------------------------------------------------------

TEST_F(foreign_wait_test, a_stop_before_it_keeps_it_from_beginning) {
    event it;
    auto handle = spawn(*simulation, waits_for(it));
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_FALSE(it.waiting);
    EXPECT_THROW(static_cast<void>(handle.get()), stopped_error);
}

TEST_F(foreign_wait_test, a_stop_during_it_is_told_to_the_next_wait) {
    event it;
    static constexpr auto body = [](event& on) -> task<wake_reason> {
        const int number = co_await event::awaiter{on};
        EXPECT_EQ(number, 42);
        co_return co_await test::ending_of(sleep_for(1h));
    };
    auto handle = spawn(*simulation, body(it));
    simulation->run_until_idle();
    handle.request_stop();
    simulation->run_until_idle();
    EXPECT_FALSE(handle.ended());
    it.waiting.resume();
    simulation->run_until_idle();
    EXPECT_EQ(handle.get(), wake_reason::stopped);
}

TEST_F(foreign_wait_test, it_can_be_shielded_and_taken_as_a_result) {
    event it;
    static constexpr auto body = [](event& on) -> task<> {
        basic_task& self = co_await current_task();
        self.request_stop();
        const auto stopped = co_await as_result(event::awaiter{on});
        EXPECT_FALSE(stopped.has_value());
        const int number = co_await shielded(event::awaiter{on});
        EXPECT_EQ(number, 42);
    };
    auto handle = spawn(*simulation, body(it));
    simulation->run_until_idle();
    ASSERT_TRUE(it.waiting);
    it.waiting.resume();
    simulation->run_until_idle();
    handle.get();
}

// The foreign operation may use objects in the frames, so the frames stay until it has ended.
TEST(foreign_wait_on_threads, a_scheduler_that_is_destroyed_waits_for_the_resume) {
    const watchdog guard;
    for (int round = 0; round != 100; ++round) {
        std::atomic<int> alive{0};
        std::atomic<void*> waiting{nullptr};
        struct published {
            std::atomic<void*>& to;
            [[nodiscard]] bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<> handle) const noexcept {
                to = handle.address();
            }
            void await_resume() const noexcept {}
        };
        const auto body = [&]() -> task<> {
            const test::counted held{alive};
            co_await published{waiting};
        };
        std::optional<scheduler> threads{std::in_place,
                                         scheduler_options{.workers = 2, .stop_limit = 0s}};
        auto handle = spawn(*threads, body());
        test::await([&] { return waiting != nullptr; });
        std::jthread other{[&] {
            EXPECT_EQ(alive, 1);
            std::coroutine_handle<>::from_address(waiting).resume();
        }};
        threads.reset();
        EXPECT_EQ(alive, 0);
        try {
            handle.get();
        } catch (const stopped_error&) {  // the task was stopped before its end
        }
    }
}

// --- on threads ----------------------------------------------------------------------------------

struct resumed_elsewhere {
    std::vector<std::jthread>& threads;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const {
        threads.emplace_back([handle] { handle.resume(); });
    }
    [[nodiscard]] std::thread::id await_resume() const noexcept {
        return std::this_thread::get_id();
    }
};

// The thread may resume the handle before await_suspend has returned.
TEST(foreign_wait_on_threads, a_resume_races_with_the_suspension) {
    const watchdog guard;
    scheduler threads{{.workers = 2}};
    static constexpr auto body = []() -> task<int> {
        std::vector<std::jthread> others;
        int elsewhere = 0;
        for (int i = 0; i != 20; ++i) {
            const std::thread::id id = co_await resumed_elsewhere{others};
            for (const std::jthread& each : others) elsewhere += each.get_id() == id;
        }
        co_return elsewhere;
    };
    std::vector<join_handle<int>> all;
    for (int i = 0; i != 20; ++i) all.push_back(spawn(threads, body()));
    for (auto& each : all) EXPECT_EQ(each.get(), 0) << "it runs on workers only";
}

}  // namespace
}  // namespace fairlead::foreign_wait_tests
