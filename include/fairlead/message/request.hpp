// Requests: messages with a promise for the reply.
#pragma once

#include <fairlead/future/promise.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace fairlead {

/// A message `Q` with the promise of an `R` or a failure `E`. If it is dropped, by its port or by a
/// handler, the future fails as `wait_error::broken`.
template <class Q, class R, class E = std::exception_ptr>
struct request {
    /// What is asked.
    Q message;
    /// Takes the reply.
    promise<R, E> reply;
};

/// A request that was not sent yet, and the future of its reply.
template <class Q, class R, class E = std::exception_ptr>
struct request_and_reply {
    /// To be sent.
    fairlead::request<Q, R, E> request;
    /// The reply.
    future<R, E> reply;
};

/// Makes a request to be sent by hand, for a send that waits. Allocates the pair of promise and
/// future; throws `std::bad_alloc`.
template <class R, class E = std::exception_ptr, class Q>
[[nodiscard]] request_and_reply<std::decay_t<Q>, R, E> make_request(Q&& message) {
    auto both = make_promise<R, E>();
    return {{std::forward<Q>(message), std::move(both.promise)}, std::move(both.future)};
}

/// @cond internal
namespace messages {

template <class T>
struct request_traits {
    static constexpr bool is_request = false;
};
template <class Q, class R, class E>
struct request_traits<request<Q, R, E>> {
    static constexpr bool is_request = true;
    using message = Q;
    using value = R;
    using failure = E;
};
template <class T>
concept is_request = request_traits<T>::is_request;

}  // namespace messages
/// @endcond

}  // namespace fairlead
