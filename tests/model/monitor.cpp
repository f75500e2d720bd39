// The monitor for models. The real monitor depends only on time. In a model no step is asked to
// yield, and any step may seem to block at any moment.
#include "model/reliefs.hpp"

#include "sched/block/monitor.hpp"
#include "sched/runtime/core.hpp"

namespace fairlead::sched {

void monitor::start() {
    if (model::reliefs == 0 || *core_.options.blocked_after == duration::zero()) return;
    auto started = os::start_thread({}, [this] {
        for (unsigned left = model::reliefs; left != 0; --left) {
            slot& of = *core_.slots[model::explorer::running()->choose(core_.width())];
            const std::uint64_t times_passed = of.owner.times_passed();
            const std::uint64_t step = of.finished.read();
            if (model::explorer::running()->choose(2) == 0)
                os::yield();  // it may be another by now
            static_cast<void>(core_.handover.relieve(of, step, times_passed));
        }
    });
    thread_ = std::move(*started);
}

void monitor::stop() noexcept {
    if (thread_.joinable()) thread_.join();
}

}  // namespace fairlead::sched
