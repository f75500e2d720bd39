// Traces of the state of a task, for TaskStateTrace: thread 1 is the role and the worker, threads 2
// and 3 wake the task in all ways. Each wake-up is a waker of the specification.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/detail/sched/task_state.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <utility>

namespace fairlead::traces {
namespace {

constexpr unsigned wakes_of_each = few;
constexpr unsigned rests = some;

// Every waker of a sleeper pushes it.
struct every_waker_pushes : task_state {
    bool park(bool is_deaf) {
        const bool sleeps = task_state::park(is_deaf);
        sleeps_.store(sleeps, sync::seq_cst);
        return sleeps;
    }
    void begin_run() {
        sleeps_.store(false, sync::seq_cst);
        task_state::begin_run();
    }
    bool wake() { return task_state::wake() || sleeps_.load(sync::seq_cst); }
    bool signal() { return task_state::signal() || sleeps_.load(sync::seq_cst); }

    sync::atomic<bool> sleeps_{false};
};

// A signal is taken, but also left.
struct signal_received_twice : task_state {
    bool take_signal() {
        if (std::exchange(again_, false)) return true;
        again_ = task_state::take_signal();
        return again_;
    }

    bool again_ = false;
};

// The waker looks whether it must push after it has set its bit.
struct second_look_decides : task_state {
    bool signal() {
        static_cast<void>(task_state::signal());
        return !is_waiting();
    }
};

// A new step forgets the signals.
struct step_uses_up_signals : task_state {
    void begin_run() {
        task_state::begin_run();
        static_cast<void>(task_state::take_signal());
    }
};

// The front, as the count of its tasks. One thread takes them.
class front_of_one {
public:
    void push() {
        count_.fetch_add(1, sync::acq_rel);
        pushed_.send();
    }
    bool take(time_point until) {
        while (count_.load(sync::acquire) == 0) {
            if (!pushed_.receive_until(until)) return false;
        }
        count_.fetch_sub(1, sync::acq_rel);
        return true;
    }

private:
    sync::atomic<int> count_{0};
    sync::signal pushed_;
};

template <class State>
struct scenario {
    history& calls;
    State state{};
    front_of_one front{};

    void wake(unsigned thread) {
        for (unsigned i = 0; i != wakes_of_each; ++i) {
            const unsigned waker = (thread - 2) * wakes_of_each + i + 1;
            const auto notify = [&](const char* how, auto&& set) {
                if (!calls.note(thread, how, waker, set)) return;
                calls.note_done(thread, "push", waker, [&] { front.push(); });
            };
            switch (choose(5)) {
                case 0:
                    notify("complete", [&] { return state.complete(); });
                    break;
                case 1:
                    notify("request_stop", [&] { return state.request_stop(); });
                    break;
                case 2:
                    notify("wake", [&] { return state.wake(); });
                    break;
                default:
                    notify("signal", [&] { return state.signal(); });
                    break;
            }
        }
    }

    // Puts the task to sleep, until it is ready.
    void sleep() {
        const bool deaf = choose(3) == 0;
        if (!calls.note(1, "park", deaf, [&] { return state.park(deaf); })) return;
        const auto take = [&](time_point until) {
            return calls.note(1, "take", 0, [&] { return front.take(until); });
        };
        if (take(soon())) return;
        if (!calls.note(1, "unpark", 0, [&] { return state.unpark(); })) take(never);
    }

    void step() {
        calls.note_done(1, "begin_run", 0, [&] { state.begin_run(); });
        // Each call takes the bits that are set, or finds none and rests.
        while (calls.note(1, "take_bits", 0, [&] { return take_bits(); }) != 0) {
        }
    }

    // Returns 0 for no bit, 1 for the signal, 2 for the end of the operation.
    unsigned take_bits() {
        if (state.take_signal()) return 1;
        return state.take_completed() ? 2 : 0;
    }
};

template <class State>
void record(const wanted& traces, const std::string& variant, unsigned count) {
    record_traces(traces.folder, "TaskState", variant, count, [](history& calls) {
        scenario<State> all{calls};
        const auto run = [&] {
            for (unsigned i = 0; i != rests; ++i) {
                all.sleep();
                all.step();
            }
        };
        in_threads(
            run, [&] { all.wake(2); }, [&] { all.wake(3); });
    });
}

}  // namespace

void record_task_state(const wanted& traces) {
    record<task_state>(traces, "code", traces.count);
    record<every_waker_pushes>(traces, "every-waker-pushes", traces.planted_count);
    record<signal_received_twice>(traces, "signal-received-twice", traces.planted_count);
    record<second_look_decides>(traces, "second-look-decides", traces.planted_count);
    record<step_uses_up_signals>(traces, "step-uses-up-signals", traces.planted_count);
}

}  // namespace fairlead::traces
