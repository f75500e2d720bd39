// Traces of joins, for JoinTrace. Of a spawned coroutine: thread 1 ends it, thread 2 has its
// handle. Or of three children: threads 3, 4 and 5 run the children, and thread 6 waits for them.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/detail/sync/per_thread.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>

#include <array>
#include <optional>
#include <string>

namespace fairlead::traces {
namespace {

constexpr std::size_t ender = 1;
constexpr std::size_t holder = 2;
constexpr std::size_t first_child = 3;
constexpr std::size_t parent = 6;

// --- a spawned coroutine -------------------------------------------------------------------------

constexpr int result_of_body = 5;

task<int> body(history& calls, bool& has_run) {
    has_run = true;
    calls.note_done(ender, "write", 0, [] {});
    co_return result_of_body;
}

// Where the current call on this thread records what it has done to the task; null: nowhere.
using done_here = sync::per_thread<const char**, class done_to_the_task>;

// The effect of `call`, as TLA+.
template <class Call>
[[nodiscard]] const char* what_is_done_by(Call&& call) {
    const char* done = "\"leaves\"";
    done_here::set(&done);
    call();
    done_here::set(nullptr);
    return done;
}

// Records what the end of the task has found: the handle, a joiner, or neither. In the last case it
// frees the task.
class noted_task final : public coro::spawned<int> {
public:
    noted_task(scheduler& home, history& calls, bool& has_run, sync::signal& ends)
        : spawned{home, body(calls, has_run), {"noted"}, {}},
          calls_{calls},
          has_run_{has_run},
          ends_{ends} {}
    ~noted_task() override {
        if (const char** const done = done_here::get()) *done = "\"frees\"";
    }

private:
    void on_end() noexcept override {
        history& calls = calls_;  // the task may be gone after its end
        if (!has_run_) calls.note_done(ender, "write", 0, [] {});  // the task was abandoned
        calls.begin_step(ender);
        ends_.send();
        const char* const done = what_is_done_by([this] { spawned::on_end(); });
        const outside own;
        if (done != nullptr) calls.note_step(ender, "end", "0", done, false);
    }

    history& calls_;
    const bool& has_run_;
    sync::signal& ends_;
};

class noted_joiner final : public coro::joiner {
public:
    explicit noted_joiner(history& calls) : calls_{calls} {}

    void wait() { thread_.wait(); }
    void tell() noexcept override {
        *done_here::get() = nullptr;  // recorded here
        {
            const outside own;
            calls_.note_step(ender, "end", "0", "\"tells\"", false);
        }
        // The joiner may be destroyed once it was told.
        calls_.note_done(ender, "tell", 0, [told = &thread_] { told->tell(); });
    }

private:
    history& calls_;
    coro::waiting_thread thread_{nullptr};
};

class one_spawned {
public:
    explicit one_spawned(history& calls)
        : calls_{calls},
          home_{std::in_place, scheduler_options{.stop_limit = duration{0}, .run_on_caller = true}},
          task_{new noted_task{*home_, calls, has_run_, ends_}} {}

    // It runs to its end, or its scheduler is destroyed before it has begun.
    void end() {
        home_->post(*task_);
        if (choose(3) != 0) home_->run_until_idle();
        home_.reset();
    }

    void hold() {
        const unsigned waits =
            choose(4);  // for the moment before the end: now, when it has joined, or not
        if (waits == 0) ends_.receive();
        if (choose(5) == 0) return detach();
        if (choose(3) == 0 && calls_.note(holder, "ended", 0, [&] { return task_->ended(); })) {
            return take();
        }
        noted_joiner joiner{calls_};
        if (calls_.note(holder, "join", 0, [&] { return task_->join(joiner); })) {
            if (waits == 1 || waits == 2) ends_.receive();
            if ((waits == 1 || waits == 2 || choose(2) == 0) &&
                calls_.note(holder, "withdraw", 0, [&] { return task_->withdraw(); })) {
                // The joiner is destroyed, or a stop or a deadline has ended the wait.
                return choose(2) == 0 ? detach() : join_again();
            }
            calls_.note_done(holder, "told", 0, [&] { joiner.wait(); });
        }
        take();
    }

private:
    void join_again() {
        noted_joiner joiner{calls_};
        if (calls_.note(holder, "join", 0, [&] { return task_->join(joiner); })) {
            calls_.note_done(holder, "told", 0, [&] { joiner.wait(); });
        }
        take();
    }
    void detach() {
        calls_.note(holder, "detach", 0,
                    [&] { return std::string{what_is_done_by([&] { task_->detach(); })}; });
    }
    // Whether the joiner gets the result of the end.
    void take() {
        calls_.note(holder, "take", 0, [&] {
            bool right = true;
            try {
                right = task_->take() == result_of_body;
            } catch (const stopped_error&) {
            }
            delete task_;
            return right;
        });
    }

    history& calls_;
    bool has_run_ = false;
    sync::signal ends_;
    std::optional<scheduler> home_;
    noted_task* task_;
};

// --- children ------------------------------------------------------------------------------------

class three_children {
public:
    explicit three_children(history& calls) : calls_{calls} {}

    void run() {
        scheduler home{{.workers = 3, .blocked_after = duration::zero()}};
        block_on(home, waits());
    }

private:
    task<> waits() {
        std::array<basic_task*, 3> tasks{};
        for (std::size_t i = 0; i != tasks.size(); ++i) {
            children_[i].set_callback([this, i](callback_task& child) { end(i, child); });
            tasks[i] = &children_[i];
        }
        co_await coro::all_ended{group_, tasks, never, tasks.size()};
        calls_.note_done(parent, "goes_on", 0, [] {});
    }

    // In its first step or a later one.
    void end(std::size_t index, basic_task& child) {
        if (choose(2) == 0) return scheduler::current()->post(child);
        const std::size_t thread = first_child + index;
        calls_.note(thread, "asked", 0, [&] { return child.stop_requested(); });
        const bool fails = choose(2) == 0;
        calls_.note_done(thread, "child_ended", fails, [&] {
            group_.child_ended(child, fails ? coro::child_failed : coro::child_succeeded);
        });
    }

    history& calls_;
    coro::child_group group_{{.name = "when_all", .stops = coro::child_failed}};
    std::array<callback_task, 3> children_;
};

void record(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "Join", variant, count, [](history& calls) {
        if (choose(4) == 0) {
            three_children{calls}.run();
        } else {
            one_spawned all{calls};
            in_threads([&] { all.end(); }, [&] { all.hold(); });
        }
    });
}

}  // namespace

void record_join(const wanted& traces) { record(traces.folder, "code", traces.count); }

void record_join(const std::string& folder, const std::string& bug, unsigned count) {
    record(folder, bug, count);
}

}  // namespace fairlead::traces
