// Children for the tests of combinators, and a fixture that stops a task at a certain time.
#pragma once

#include "support/simulated_test.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include <exception>
#include <expected>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace fairlead::test {

/// Ends with `value` after `delay`; a stop ends it earlier.
inline task<int> gives(duration delay, int value) {
    co_await sleep_for(delay);
    co_return value;
}

/// The same, and a stop does not end it earlier.
inline task<int> insists(duration delay, int value) {
    co_await shielded(sleep_for(delay));
    co_return value;
}

/// Fails after `delay`.
inline task<int> fails(duration delay, std::string what) {
    co_await sleep_for(delay);
    throw std::runtime_error{what};
}

/// The same, and a stop does not end it earlier.
inline task<int> fails_late(duration delay, std::string what) {
    co_await shielded(sleep_for(delay));
    throw std::runtime_error{what};
}

inline task<int> throws_at_once(std::string what) {
    throw std::runtime_error{what};
    co_return 0;
}

using answer = std::expected<int, std::string>;

inline task<answer> answers(duration delay, int value) {
    co_await sleep_for(delay);
    co_return value;
}
inline task<answer> refuses(duration delay, std::string why) {
    co_await sleep_for(delay);
    co_return std::unexpected{std::move(why)};
}

/// The text of a runtime_error.
inline std::string what_of(const std::exception_ptr& failure) {
    if (failure == nullptr) return "nothing";
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& caught) {
        return caught.what();
    }
}

/// A simulated scheduler, and a stop at a certain time.
class combine_test : public simulated_test {
protected:
    void run_for(duration length) {
        const time_point end = clock.now() + length;
        while (clock.now() < end) simulation->run_until(end);
        simulation->run_until_idle();
    }

    /// Runs it and stops it `delay` later.
    template <class T>
    settled<T> stopped_after(duration delay, task<T> body, stopped_by why = stopped_by::unsaid) {
        auto handle = spawn(*simulation, std::move(body));
        run_for(delay);
        handle.request_stop(why);
        simulation->drain();
        try {
            if constexpr (std::is_void_v<T>) {
                handle.get();
                return {};
            } else {
                return handle.get();
            }
        } catch (...) {
            return std::unexpected{std::current_exception()};
        }
    }
};

}  // namespace fairlead::test
