// Tasks that run at a time: a heartbeat, and two that wait for a wakeup, but not for ever.
#include <fairlead/fairlead.hpp>

#include <cstdio>

namespace fl = fairlead;
using namespace std::chrono_literals;

// [heartbeat]
// Beats three times, 10 ms apart. The next beat counts from the last deadline, so that it does not
// drift by the time that a step takes.
class heartbeat final : public fl::callback_task {
public:
    explicit heartbeat(fl::scheduler& home)
        : callback_task{[](callback_task& self) { static_cast<heartbeat&>(self).beat(); },
                        "heartbeat"},
          home_{home} {}

    void start() {
        next_ = home_.now() + 10ms;
        home_.post_deadline(*this, next_);
    }

    [[nodiscard]] bool was_early() const { return early_; }

private:
    void beat() {
        const auto late =
            std::chrono::duration_cast<std::chrono::microseconds>(home_.now() - next_);
        early_ |= late < 0us;  // it never is
        std::printf("beat %d, %lld us late\n", ++beats_, static_cast<long long>(late.count()));
        if (beats_ == 3) return;  // not posted again: the task is with its owner
        next_ += 10ms;
        home_.post_deadline(*this, next_);
    }

    fl::scheduler& home_;
    fl::time_point next_;
    int beats_ = 0;
    bool early_ = false;
};
// [/heartbeat]

// [expired]
// Runs when it is woken, or when its time is over: expired() tells which.
class waiter final : public fl::callback_task {
public:
    explicit waiter(fl::task_name name)
        : callback_task{[](callback_task& self) {
                            auto& own = static_cast<waiter&>(self);
                            own.timed_out_ = own.expired();
                            std::printf("%s: %s\n", own.name(),
                                        own.timed_out_ ? "timed out" : "woken");
                        },
                        name} {}

    [[nodiscard]] bool timed_out() const { return timed_out_; }

private:
    bool timed_out_ = false;
};
// [/expired]

int main() {
    fl::scheduler scheduler{{.workers = 2}};

    heartbeat pulse{scheduler};
    pulse.start();

    waiter answered{"answered"};
    waiter forgotten{"forgotten"};
    // [post]
    scheduler.post_delay(answered, 1h);
    scheduler.post_delay(forgotten, 20ms);
    answered.wakeup();  // from any thread, at any moment of the task's life
    // [/post]

    scheduler.drain();  // sleeping tasks count: this takes 30 ms
    return !pulse.was_early() && !answered.timed_out() && forgotten.timed_out() ? 0 : 1;
}
