// A value and the number of its shares: what is behind a `held`.
#pragma once

#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/detail/sync/share_count.hpp>

#include <utility>

namespace fairlead::channels {

template <class T>
struct shared_value : sync::recycled {
    template <class... Args>
    explicit shared_value(Args&&... args) : value(std::forward<Args>(args)...) {}

    const T value;
    sync::share_count shares;
};

}  // namespace fairlead::channels
