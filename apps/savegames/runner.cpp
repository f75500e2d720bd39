#include "savegames/runner.hpp"

#include <fairlead/coro/awaits.hpp>

#include <array>
#include <mutex>
#include <utility>

#include "savegames/run_job.hpp"
#include "savegames/step_gate.hpp"

namespace savegames {
namespace {

namespace fl = fairlead;

constexpr std::array<std::string_view, 3> names{"fairlead", "updater", "trivial"};

// The task of the connection steps the job.
//
// Lifetime: the store calls notify on its threads, and notify signals this task. The job promises
// that no notify is going on once `step` has returned finished or `expire` has returned. A frame
// that is destroyed destroys the job, which expires. So the task outlives every signal. A signal
// that comes after the job's last look stays with the task: it costs the connection's next job one
// step.
class fairlead_runner final : public runner {
public:
    explicit fairlead_runner(std::size_t long_steps) : gate_{long_steps} {}

    fl::task<std::unique_ptr<job>> run(std::unique_ptr<job> work) override {
        fl::basic_task& self = co_await fl::current_task();
        work->on_notify([&self] { self.signal(); });
        for (;;) {
            step_result result;
            if (work->next_bytes() < step_gate::bytes_min) {
                result = work->step(clock::now());
            } else {
                result = co_await run_long_step(*work);
            }
            if (result.what == step_result::kind::finished) break;
            fl::wake_reason reason = fl::wake_reason::woken;
            if (result.what == step_result::kind::ready) {
                co_await fl::shielded(fl::yield());  // a stop ends a job where the job waits
            } else if (!self.receive_signal()) {     // else: the store has answered already
                reason = co_await fl::receive_signal(result.until);
            }
            if (reason == fl::wake_reason::stopped || reason == fl::wake_reason::overdue) {
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

// Where a baseline leaves a finished job for the connection that waits for it. Both own the
// mailbox, because either may end first.
class mailbox {
public:
    explicit mailbox(fl::basic_task& waiting) noexcept : waiting_{&waiting} {}

    // Called on a thread of the baseline.
    void deliver(std::unique_ptr<job> finished) {
        const std::lock_guard lock{mutex_};
        finished_ = std::move(finished);
        // Under the mutex: the waiting task locks it before it goes on, so it outlives the signal.
        if (waiting_ != nullptr) waiting_->signal();
    }

    [[nodiscard]] std::unique_ptr<job> take() {
        const std::lock_guard lock{mutex_};
        return std::move(finished_);
    }

    // The connection waits no longer.
    void leave() {
        const std::lock_guard lock{mutex_};
        waiting_ = nullptr;
    }

private:
    std::mutex mutex_;
    fl::basic_task* waiting_;
    std::unique_ptr<job> finished_;
};

// The waiting side of a mailbox. The destructor leaves the mailbox, also if the frame is destroyed.
class mail_receiver {
public:
    explicit mail_receiver(fl::basic_task& self) : box_{std::make_shared<mailbox>(self)} {}
    mail_receiver(const mail_receiver&) = delete;
    mail_receiver& operator=(const mail_receiver&) = delete;
    ~mail_receiver() { box_->leave(); }

    [[nodiscard]] job_done callback() const {
        return [box = box_](std::unique_ptr<job> finished) { box->deliver(std::move(finished)); };
    }
    [[nodiscard]] std::unique_ptr<job> take() const { return box_->take(); }

private:
    std::shared_ptr<mailbox> box_;
};

// A runner on `Pool`, to which `Run` posts a job.
template <class Pool, void (*Run)(Pool&, std::unique_ptr<job>, job_done)>
class baseline_runner final : public runner {
public:
    template <class Options>
    baseline_runner(Options options, std::size_t threads) : pool_{options}, threads_{threads} {}

    fl::task<std::unique_ptr<job>> run(std::unique_ptr<job> work) override {
        fl::basic_task& self = co_await fl::current_task();
        const mail_receiver receiver{self};
        Run(pool_, std::move(work), receiver.callback());
        bool is_overdue = false;
        for (;;) {
            std::unique_ptr<job> finished = receiver.take();
            if (finished != nullptr) co_return finished;
            // The job has the same deadline as the request: once it is overdue it ends by itself,
            // with the answer that it has by then.
            if (is_overdue) {
                static_cast<void>(co_await fl::shielded(fl::receive_signal()));
                continue;
            }
            const fl::wake_reason reason = co_await fl::receive_signal();
            if (reason == fl::wake_reason::stopped) co_return receiver.take();
            is_overdue = reason == fl::wake_reason::overdue;
        }
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
