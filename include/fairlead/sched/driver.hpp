// What the role sleeps on and polls: a futex, epoll, or a simulation. Passed in as a value.
//
// Sleeping and scheduling are apart: `wait` may run in one thread while a second thread, the holder
// of the role, polls. So a worker that sleeps never keeps other workers from running rounds.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/sched/task.hpp>

namespace fairlead {

/// Where a driver puts the tasks whose events have come. Valid during the call that passed it.
class event_sink {
public:
    /// The event of the task has come: the task leaves its sleep and becomes ready. The task sleeps
    /// in this scheduler, and one of the driver's sources has armed it. Calls the `disarm` of that
    /// source.
    virtual void fire(basic_task& task) noexcept = 0;

protected:
    ~event_sink() = default;
};

/// What idle workers sleep on, and what says which events have come. A scheduler owns its driver,
/// which is passed in as an option. A program with a clock or events of its own derives from it.
class driver {
public:
    virtual ~driver() = default;

    /// Sets when a `wait` ends at the latest (`never`: without a limit). The holder of the role
    /// calls it. True: a wait under way keeps to the new deadline. False: it does so only when it
    /// is woken, or at its old deadline.
    [[nodiscard]] virtual bool set_deadline(time_point deadline) noexcept = 0;

    /// Sleeps until `wake`, an event, or the deadline, whichever is first; not at all if there is
    /// an event that no poll has passed on. May return early for no reason. One thread at a time
    /// calls it; a `poll` follows before the next `wait`.
    virtual void wait() noexcept = 0;

    /// Passes on the events that have come, without sleeping. After a `wait` that events have ended
    /// it may leave later events to the next call. The holder of the role calls it.
    virtual void poll(event_sink& sink) noexcept = 0;

    /// Ends the current `wait`, or the next one. Any thread.
    virtual void wake() noexcept = 0;

    /// Whether events can come at all, so that some worker must look. Any thread; may change any
    /// time.
    [[nodiscard]] virtual bool has_sources() const noexcept = 0;

    /// For the poll of a foreign main loop: a descriptor that is readable while a `wait` would end
    /// at once, the deadline included. -1: there is none, and the loop needs the deadline and a
    /// call. Any thread.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
};

}  // namespace fairlead
