// Asks a task to stop when a `std::stop_token` says so.
#pragma once

#include <fairlead/sched/scheduler.hpp>

#include <optional>
#include <stop_token>
#include <utility>

namespace fairlead::coro {

class stop_on_token {
public:
    stop_on_token(basic_task& asked, std::stop_token stop, stopped_by why = stopped_by::token)
        : callback_{std::in_place, std::move(stop), request{asked, why}} {}

    /// Before the end of the task: waits for a request that another thread makes at this moment, so
    /// that it does not touch a task that is gone.
    void reset() noexcept { callback_.reset(); }

private:
    struct request {
        basic_task& asked;
        stopped_by why;
        void operator()() const noexcept { asked.request_stop(why); }
    };

    std::optional<std::stop_callback<request>> callback_;
};

}  // namespace fairlead::coro
