// A service: a state, requests that have it alone or share it, and one way to stop.
//
//     fl::service<table> names{pool};
//     auto& get = names.concurrent<std::string, int>([](const table& t, std::string key) { ... });
//     auto& put = names.exclusive<entry, void>([](table& t, entry e) -> fl::task<> { ... });
//     names.start();
//     const int value = co_await get.ask(std::string{"one"});
//     co_await names.stop(deadline);
//
// The handlers of requests run inside the gate of the service: an exclusive one is alone with the
// state, also over its waits; concurrent ones share it and get it as const.
//
//     idle --start--> running --stop--> stopping --> stopped
//
// `stop` closes the ports, lets the requests that queue be handled until the deadline, drops the
// rest, which are answered as `broken`, and closes the gate. Then no handler runs any more.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/message/gate.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/message/port_receiver.hpp>
#include <fairlead/message/request.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead {

/// How far a service is.
enum class service_status : std::uint8_t {
    idle,      ///< requests queue
    running,   ///< requests are handled
    stopping,  ///< requests are refused; those that queue are handled
    stopped,   ///< no handler runs any more
};

/// What a stop does with the requests that queue.
enum class service_rest : std::uint8_t {
    drain,  ///< they are handled, until the deadline of the stop
    drop,   ///< they are dropped at once, and answered as `broken`
};

/// What a service did so far.
struct service_stats {
    std::uint64_t handled = 0;  ///< requests whose handler has ended
    std::uint64_t failed = 0;   ///< of these, by a failure
    std::uint64_t refused = 0;  ///< requests that the closed gate did not let in
    std::uint64_t overdue = 0;  ///< requests that were dropped: their deadline had passed
    std::size_t queued = 0;     ///< requests that wait in ports now
};

/// Owns a `State`. Requests are added before `start`, by one thread. Then any thread may use the
/// ports, `stop`, `status` and `stats`.
template <class State>
class service {
public:
    /// Handlers run as tasks of `where`. `args` make the state.
    template <class... Args>
    explicit service(executor where, Args&&... args)
        : where_{where}, state_(std::forward<Args>(args)...) {}
    service(const service&) = delete;
    service& operator=(const service&) = delete;
    /// It must be stopped, or never have been started.
    ~service() {
        FAIRLEAD_ASSERT(status() == service_status::idle || status() == service_status::stopped,
                        "a service was destroyed that was not stopped");
    }

    /// Adds a kind of request that has the state alone: `f(State&, Q)`, plain or a coroutine, whose
    /// result or exception is the reply. Gives the port, which lives as long as the service.
    /// `capacity`: how many requests wait at most. Allocates; throws `std::bad_alloc`.
    template <class Q, class R, class E = std::exception_ptr, class F>
    port<request<Q, R, E>>& exclusive(F f, std::size_t capacity = port<Q>::unbounded) {
        auto call = [this, f = std::move(f)](Q message) mutable {
            return std::invoke(f, state_, std::move(message));
        };
        return add<request<Q, R, E>>(std::move(call), {.gate = gate_.exclusive()}, capacity);
    }

    /// Adds a kind of request that shares the state: `f(const State&, Q)`. `at_most`: how many of
    /// its handlers run at once; they call one `f`.
    template <class Q, class R, class E = std::exception_ptr, class F>
    port<request<Q, R, E>>& concurrent(F f, std::size_t at_most = 1,
                                       std::size_t capacity = port<Q>::unbounded) {
        auto call = [this, f = std::move(f)](Q message) {
            return std::invoke(f, std::as_const(state_), std::move(message));
        };
        return add<request<Q, R, E>>(std::move(call),
                                     {.at_most = at_most, .gate = gate_.concurrent()}, capacity);
    }

    /// Begins to handle requests, also those that queue. False: it was started before. Throws
    /// `std::bad_alloc`: then it runs, but some kinds of requests are only queued, until a `stop`.
    bool start() {
        if (!go_on(service_status::idle, service_status::running)) return false;
        for (const auto& each : routes_) each->start(where_);
        return true;
    }

    /// Stops a service that runs: see the top. `deadline`: how long requests that queue are
    /// handled. A handler that runs then is awaited all the same. A stop of the calling task, or
    /// the deadline of its context, ends the wait for requests, too, but not that for handlers.
    /// False: it was not running.
    task<bool> stop(time_point deadline = never, service_rest rest = service_rest::drain) {
        if (!go_on(service_status::running, service_status::stopping)) co_return false;
        for (const auto& each : routes_) each->close(rest == service_rest::drop);
        for (const auto& each : routes_) {
            if (!each->receiver()) continue;
            const auto ended = co_await each->receiver()->ended(deadline);
            if (!ended) break;
        }
        for (const auto& each : routes_) each->close(true);
        for (const auto& each : routes_) {
            if (!each->receiver()) continue;
            // A stop, or the deadline of the context, would end each of these waits at once.
            const auto ended = co_await shielded(each->receiver()->ended());
            static_cast<void>(ended);
        }
        {
            const auto teardown = co_await shielded(gate_.close());
            static_cast<void>(teardown);  // no handler is inside: it does not wait
        }
        go_on(service_status::stopping, service_status::stopped);
        co_return true;
    }

    /// How far it is.
    [[nodiscard]] service_status status() noexcept {
        const std::lock_guard lock{mutex_};
        return status_;
    }

    /// What it did so far. Linear in the number of kinds of requests.
    [[nodiscard]] service_stats stats() {
        service_stats all;
        const bool has_begun = status() != service_status::idle;
        for (const auto& each : routes_) {
            all.queued += each->length();
            if (!has_begun) continue;
            const receiver_stats one = each->stats();
            all.handled += one.handled;
            all.failed += one.failed;
            all.refused += one.refused;
            all.overdue += one.overdue;
        }
        return all;
    }

private:
    // A kind of request: its port, and its receiver once the service runs.
    class route {
    public:
        virtual ~route() = default;
        virtual void start(executor where) = 0;
        virtual void close(bool drops) noexcept = 0;
        [[nodiscard]] virtual std::size_t length() noexcept = 0;

        /// Nothing, if there was no memory for it.
        [[nodiscard]] const std::optional<port_receiver>& receiver() const noexcept {
            return receiver_;
        }
        [[nodiscard]] receiver_stats stats() const noexcept {
            return receiver_ ? receiver_->stats() : receiver_stats{};
        }

    protected:
        std::optional<port_receiver> receiver_;
    };

    template <class T, class F>
    class route_of final : public route {
    public:
        route_of(F&& f, receiver_options&& options, std::size_t capacity)
            : to{capacity}, handler_{std::move(f)}, options_{std::move(options)} {}

        void start(executor where) override {
            this->receiver_.emplace(
                to.receive_with(where, std::move(handler_), std::move(options_)));
        }
        void close(bool drops) noexcept override {
            if (drops) {
                to.close_and_drop();
            } else {
                to.close();
            }
        }
        [[nodiscard]] std::size_t length() noexcept override { return to.length(); }

        port<T> to;

    private:
        F handler_;
        receiver_options options_;
    };

    template <class T, class F>
    port<T>& add(F&& f, receiver_options options, std::size_t capacity) {
        FAIRLEAD_ASSERT(status() == service_status::idle,
                        "a request was added to a service that was started");
        auto added = std::make_unique<route_of<T, F>>(std::move(f), std::move(options), capacity);
        port<T>& to = added->to;
        routes_.push_back(std::move(added));
        return to;
    }

    // False: the status is another.
    bool go_on(service_status from, service_status to) noexcept {
        const std::lock_guard lock{mutex_};
        if (status_ != from) return false;
        status_ = to;
        return true;
    }

    const executor where_;
    State state_;
    gate gate_;
    sync::mutex mutex_;
    service_status status_ = service_status::idle;  // guarded by mutex_
    std::vector<std::unique_ptr<route>> routes_;    // not changed after the start
};

}  // namespace fairlead
