// The phases of a barrier: a meeting, and what is called at the end of each phase.
#pragma once

#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/sync/meeting.hpp>

#include <cstdint>
#include <utility>

namespace fairlead {

namespace wait {

/// The completion function of a barrier that has none.
struct nothing_at_phase {
    void operator()() const noexcept {}
};

/// `OnPhase`: see barrier.
template <class OnPhase>
class phases {
public:
    using waiter = sync::waiter;

    explicit phases(std::uint32_t parties, OnPhase&& on_phase)
        : meeting_{parties}, on_phase_{std::move(on_phase)} {}

    [[nodiscard]] bool enter(waiter& wait) noexcept {
        sync::waiter_list ended;
        if (!meeting_.arrive(wait, ended)) return true;
        end_phase(ended);
        return false;
    }
    [[nodiscard]] bool withdraw(waiter& wait) noexcept { return meeting_.withdraw(wait); }

    [[nodiscard]] bool arrive_if_last() noexcept {
        sync::waiter_list ended;
        if (!meeting_.arrive_if_last(ended)) return false;
        end_phase(ended);
        return true;
    }
    void leave() noexcept {
        sync::waiter_list ended;
        if (meeting_.leave(ended)) end_phase(ended);
    }

    [[nodiscard]] std::uint32_t parties() noexcept { return meeting_.parties(); }
    [[nodiscard]] std::uint32_t arrived() noexcept { return meeting_.arrived(); }

private:
    // The last touch of this object is before the first wait is told.
    void end_phase(sync::waiter_list& ended) noexcept {
        on_phase_();
        ended.tell_all();
    }

    sync::meeting meeting_;
    [[no_unique_address]] OnPhase on_phase_;
};

}  // namespace wait

}  // namespace fairlead
