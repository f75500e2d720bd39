// Which connections of a server wait for a request, so that a drain ends these alone.
//
// A connection has a seat with a mutex of its own, which the connection takes twice for each head,
// and the drain once. A seat is told once. If its connection is idle then, its task is asked to
// stop, under the mutex: so it is not asked in the middle of a request, and exists. If the
// connection is busy, it sees that the seat was told before it is idle again.
#pragma once

#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/http/connection_monitor.hpp>
#include <fairlead/http/handler.hpp>
#include <fairlead/http/server_options.hpp>
#include <fairlead/sched/task.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <mutex>
#include <utility>

namespace fairlead::http::detail {

class seat;

// Any thread.
class seats {
public:
    seats() = default;
    seats(const seats&) = delete;
    seats& operator=(const seats&) = delete;

    // Tells all seats, and each that is taken later.
    void drain() noexcept;

private:
    friend class seat;

    sync::mutex mutex_;
    seat* first_ = nullptr;  // guarded by mutex_, as the links of the seats
    bool draining_ = false;  // guarded by mutex_
};

// Of one connection, whose task makes and destroys it.
class seat final : public connection_monitor {
public:
    seat(seats& all, basic_task& of) noexcept;
    ~seat() override;

    [[nodiscard]] verdict waits_for_request() noexcept override { return begin_idle(); }
    [[nodiscard]] verdict waits_for_head(time_point) noexcept override { return begin_idle(); }
    [[nodiscard]] verdict resumes() noexcept override;
    [[nodiscard]] bool is_last() noexcept override;

private:
    friend class seats;
    [[nodiscard]] verdict begin_idle() noexcept;
    void tell() noexcept;

    seats& all_;
    basic_task& task_;
    seat* next_ = nullptr;
    seat* previous_ = nullptr;
    sync::mutex mutex_;
    bool told_ = false;  // guarded by mutex_
    bool idle_ = false;  // guarded by mutex_
};

// What the connections of one server share.
struct server_state {
    server_state(http::handler answers, server_options given)
        : handler{std::move(answers)}, options{std::move(given)}, places{options.connections_max} {}

    const http::handler handler;
    const server_options options;
    detail::seats seats;
    semaphore places;
};

}  // namespace fairlead::http::detail
