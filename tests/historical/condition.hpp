// A condition variable for scenarios, as in POSIX: a notification wakes threads that wait at that
// moment, and is not kept for later. It may be destroyed as soon as all its waiters have been
// notified.
#pragma once

#include "model/checker/atomic.hpp"

#include <array>
#include <cstddef>
#include <limits>

namespace fairlead::model::historical {

class condition {
public:
    /// Releases `mutex` and waits, as one step; holds it again when it returns.
    void wait(sync::mutex& mutex) {
        explorer& model = *explorer::running();
        const explorer::outside_scenario outside{model};
        bool notified = false;
        step_of(model);
        waiters_[count_++] = &notified;
        mutex.unlock();
        while (!notified) {
            static_cast<void>(model.block(&notified, "waits for a condition",
                                          std::numeric_limits<std::int64_t>::max(), {}));
        }
        mutex.lock();
    }

    void notify_one() { notify(1); }
    void notify_all() { notify(threads_max); }

private:
    void step_of(explorer& model) {
        model.visible({step::write, false, this});
        lifetime_.touch();
    }

    void notify(std::size_t most) {
        explorer& model = *explorer::running();
        const explorer::outside_scenario outside{model};
        step_of(model);
        if (model.tracing()) model.note("notifies");
        for (; most != 0 && count_ != 0; --most) {
            bool*& chosen = waiters_[model.choose(count_)];
            *chosen = true;
            model.wake(chosen, 1);
            chosen = waiters_[--count_];
        }
    }

    std::array<bool*, threads_max> waiters_{};
    std::size_t count_ = 0;
    lifetime lifetime_;
};

}  // namespace fairlead::model::historical
