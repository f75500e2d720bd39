// Where the results go that nothing waits for any more.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <type_traits>
#include <utility>

namespace fairlead {
/// @cond internal
namespace combine {

template <class F>
struct loser_sink {
    F sink;
};

// The results of losers are destroyed where they are.
struct drop {};

}  // namespace combine
/// @endcond

/// The first argument of `when_any` and `race`, for results that must not get lost, such as an open
/// connection: `when_any(fl::on_loser(give_back), connect(a), connect(b))`. After all ends the
/// waiting task calls `sink(index, settled)` for each child but the winner, in order. Without it
/// the results of losers are destroyed.
template <class F>
[[nodiscard]] combine::loser_sink<std::decay_t<F>> on_loser(F&& sink) {
    return {std::forward<F>(sink)};
}

}  // namespace fairlead
