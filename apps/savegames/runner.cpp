#include "savegames/runner.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/wait/event.hpp>

#include <array>
#include <utility>

#include "savegames/run_job.hpp"
#include "savegames/step_gate.hpp"

namespace savegames {
namespace {

namespace fl = fairlead;

constexpr std::array<std::string_view, 3> names{"fairlead", "updater", "trivial"};

// The task of the connection steps the job.
//
// Lifetime: the store calls notify on its threads, and notify sets an event. The job promises that
// no notify is going on once `step` has returned finished or `expire` has returned. A frame that is
// destroyed destroys the job, which expires, and then the event.
class fairlead_runner final : public runner {
public:
    explicit fairlead_runner(std::size_t long_steps) : gate_{long_steps} {}

    fl::task<std::unique_ptr<job>> run(std::unique_ptr<job> given) override {
        fl::auto_event notified;
        std::unique_ptr<job> work = std::move(given);  // ends before the event
        work->on_notify([&notified] { notified.set(); });
        for (;;) {
            step_result result;
            if (work->next_bytes() < step_gate::bytes_min) {
                result = work->step(clock::now());
            } else {
                result = co_await run_long_step(*work);
            }
            if (result.what == step_result::kind::finished) break;
            if (result.what == step_result::kind::ready) {
                co_await fl::shielded(fl::yield());  // a stop ends a job where the job waits
            } else if (!notified.try_wait()) {       // else: the store has answered already
                const auto answered = co_await notified.wait(result.until);
                if (answered || answered.error() == fl::wait_error::expired) continue;
                work->expire();
                break;
            }
        }
        co_return work;
    }

private:
    // Runs one step in a turn of the gate. Without a turn (stop or deadline) the job expires.
    fl::task<step_result> run_long_step(job& work) {
        step_gate::turn turn{gate_};
        const job_request& request = work.request();
        const bool granted = co_await turn.wait(request.game, request.deadline);
        if (granted) co_return work.step(clock::now());
        work.expire();
        co_return step_result{step_result::kind::finished};
    }

    step_gate gate_;
};

// A runner on `Pool`, to which `Run` posts a job.
template <class Pool, void (*Run)(Pool&, std::unique_ptr<job>, job_done)>
class baseline_runner final : public runner {
public:
    template <class Options>
    baseline_runner(Options options, std::size_t threads) : pool_{options}, threads_{threads} {}

    fl::task<std::unique_ptr<job>> run(std::unique_ptr<job> work) override {
        auto [promise, finished] = fl::make_promise<std::unique_ptr<job>>();
        Run(pool_, std::move(work), [to = std::move(promise)](std::unique_ptr<job> done) mutable {
            to.set(std::move(done));
        });
        auto ended = co_await finished.wait();
        // The job has the same deadline as the request: once it is overdue it ends by itself, with
        // the answer that it has by then.
        if (!ended && ended.error() == fl::wait_error::overdue) {
            ended = co_await fl::shielded(finished.wait());
        }
        if (!finished.is_ready()) co_return nullptr;
        co_return *finished.take();  // the pool has called back, as it does once for each job
    }

    [[nodiscard]] std::size_t threads() const override { return threads_; }
    [[nodiscard]] std::uint64_t wakeups() const override { return pool_.wakeups(); }

private:
    Pool pool_;
    const std::size_t threads_;
};

}  // namespace

std::optional<scheduler_choice> parse_scheduler(std::string_view name) {
    for (std::size_t i = 0; i != names.size(); ++i) {
        if (names[i] == name) return static_cast<scheduler_choice>(i);
    }
    return std::nullopt;
}

std::string_view to_string(scheduler_choice choice) noexcept {
    return names[std::to_underlying(choice)];
}

std::unique_ptr<runner> make_runner(scheduler_choice choice, std::size_t workers,
                                    std::size_t long_steps) {
    switch (choice) {
        case scheduler_choice::updater:
            return std::make_unique<baseline_runner<updater, run_on_updater>>(
                updater_options{.threads = workers}, workers);
        case scheduler_choice::trivial:
            return std::make_unique<baseline_runner<trivial, run_on_trivial>>(workers, workers);
        case scheduler_choice::fairlead:
            break;
    }
    return std::make_unique<fairlead_runner>(long_steps != 0 ? long_steps
                                                             : step_gate::limit_for(workers));
}

}  // namespace savegames
