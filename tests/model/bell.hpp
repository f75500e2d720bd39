// How threads of a scenario sleep when the scenario does not check the sleep itself. A bell stays
// rung until one waiter has heard it, and orders memory like a mutex.
#pragma once

#include "model/checker/explorer.hpp"

#include <cstdint>
#include <limits>

namespace fairlead::model {

class bell {
public:
    void ring() {
        explorer& model = *explorer::running();
        const explorer::outside_scenario outside{model};
        model.visible({step::write, false, this});
        if (model.tracing()) model.note("rings");
        rung_ = true;
        left_.join(model.known().current);
        model.known().tick();
        model.wake(this, threads_max);
    }

    void wait() {
        explorer& model = *explorer::running();
        const explorer::outside_scenario outside{model};
        model.visible({step::write, false, this});
        while (!rung_) {
            static_cast<void>(model.block(this, "waits for a bell",
                                          std::numeric_limits<std::int64_t>::max(),
                                          {step::write, false, this}));
        }
        rung_ = false;
        model.known().current.join(left_);
    }

private:
    bool rung_ = false;
    view left_;  // what the ringing threads knew
};

}  // namespace fairlead::model
