// The driver of a scheduler without IO: it sleeps on a futex.
#pragma once

#include <fairlead/sched/driver.hpp>
#include <fairlead/sync/signal.hpp>

namespace fairlead {

class futex_driver final : public driver {
public:
    void wait(time_point deadline) noexcept override {
        static_cast<void>(wake_.receive_until(deadline));
    }
    void poll(event_sink&) noexcept override {}
    void wake() noexcept override { wake_.send(); }
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

private:
    sync::signal wake_;
};

}  // namespace fairlead
