// Receivers: handlers that are attached to ports.
#pragma once

#include <fairlead/detail/message/receiver_state.hpp>
#include <fairlead/message/gate.hpp>
#include <fairlead/sched/task_name.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead {

/// How many messages a receiver takes.
enum class receiver_mode : std::uint8_t {
    persistent,  ///< until it ends
    one_shot,    ///< one
};

/// All have defaults.
struct receiver_options {
    /// One message, or all.
    receiver_mode mode = receiver_mode::persistent;
    /// How many handlers run at once, at least one; each is a task. 1: the messages are handled in
    /// order. A receiver for one message has one.
    std::size_t at_most = 1;
    /// Each handler runs inside this entry, such as `door.exclusive()`. A message that the gate
    /// does not let in is dropped, counted as refused, and its wait_error goes to `on_failure`.
    std::optional<gate_entry> gate{};
    /// Takes the exceptions of handlers that no reply takes. Empty: the error sink of the sender's
    /// context, or else `on_unhandled` of the scheduler, which also get what this function throws.
    failure_sink on_failure{};
    /// For reports.
    task_name name = "receiver";
};

/// Refers to a receiver, as a pointer does. Any thread.
class receiver_ref {
public:
    /// @cond internal
    explicit receiver_ref(std::shared_ptr<messages::receiver_state> of) noexcept
        : of_{std::move(of)} {}
    /// @endcond

    /// No further message is taken until `resume`; messages queue in the port. A message that a
    /// worker takes at the same time is still handled.
    void pause() noexcept { of_->pause(); }
    /// Messages are taken again.
    void resume() noexcept { of_->resume(); }
    /// Takes no further message, for good. Handlers that run go on. A handler may call it.
    void end() noexcept { of_->end(); }

    /// Whether it is paused.
    [[nodiscard]] bool is_paused() const noexcept { return of_->is_paused(); }
    /// Waits until it takes no message any more and no handler runs: by `end`, because the port was
    /// closed and is empty, after its one message, or because its scheduler stops. `waited<void>`,
    /// which may be `stopped` or `expired`. A handler that awaits it waits for itself.
    [[nodiscard]] auto ended(time_point deadline = never) const noexcept {
        return of_->ended.wait(deadline);
    }
    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    [[nodiscard]] waited<void> ended_blocking(time_point deadline = never) const {
        return of_->ended.wait_blocking(deadline);
    }
    /// Whether it has ended.
    [[nodiscard]] bool has_ended() const noexcept { return of_->ended.is_set(); }
    /// What it did so far.
    [[nodiscard]] receiver_stats stats() const noexcept { return of_->stats(); }

private:
    friend class port_receiver;

    std::shared_ptr<messages::receiver_state> of_;
};

/// Keeps a receiver: the destructor ends it, without a wait, unless it was detached.
class [[nodiscard]] port_receiver : public receiver_ref {
public:
    /// @cond internal
    explicit port_receiver(std::shared_ptr<messages::receiver_state> of) noexcept
        : receiver_ref{std::move(of)} {}
    /// @endcond
    /// `other` keeps none after it, and may only be destroyed or assigned.
    port_receiver(port_receiver&& other) noexcept = default;
    /// Ends its own receiver, and takes over that of `other`.
    port_receiver& operator=(port_receiver&& other) noexcept {
        if (this != &other) {
            if (of_ != nullptr) end();
            of_ = std::move(other.of_);
        }
        return *this;
    }
    ~port_receiver() {
        if (of_ != nullptr) end();
    }

    /// Leaves it to itself: it goes on until its port is closed, and is not kept any more.
    void detach() noexcept { of_.reset(); }
};

}  // namespace fairlead
