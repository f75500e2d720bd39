// The driver of a scheduler without IO: it sleeps on a futex.
#pragma once

#include <fairlead/sched/driver.hpp>
#include <fairlead/sync/signal.hpp>

namespace fairlead {

class futex_driver final : public driver {
public:
    [[nodiscard]] bool set_deadline(time_point deadline) noexcept override {
        // Relaxed: who waits next has the role after it; who waits now will look again.
        return deadline_.exchange(deadline, sync::relaxed) <= deadline;
    }
    void wait() noexcept override {
        // One that was put off meanwhile is slept through.
        time_point deadline = deadline_.load(sync::relaxed);
        while (!wake_.receive_until(deadline)) {
            const time_point now_set = deadline_.load(sync::relaxed);
            if (now_set <= deadline) return;
            deadline = now_set;
        }
    }
    void poll(event_sink&) noexcept override {}
    void wake() noexcept override { wake_.send(); }
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

private:
    sync::signal wake_;
    sync::atomic<time_point> deadline_{never};
};

}  // namespace fairlead
