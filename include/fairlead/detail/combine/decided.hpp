// What a group of children has decided, when all have ended.
#pragma once

#include <fairlead/combine/on_loser.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/detail/coro/children.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::combine {

// The child whose end has decided. `sink` gets the rest. None: no end has decided, and `sink` gets
// nothing.
template <class Children, class Sink>
std::optional<completion<typename Children::one>> decided(Children& ended, Sink& sink) {
    std::optional<completion<typename Children::one>> first;
    if (ended.group().decider() == nullptr) return first;
    ended.for_each([&](auto index, auto& each) {
        if (!each.has_decided()) return;
        if (each.failure() != nullptr) each.pass_on_trail();
        first.emplace(index, Children::settle_as_one(index, each));
    });
    if constexpr (!std::is_same_v<Sink, drop>) {
        ended.for_each([&](auto index, auto& each) {
            if (index != first->index) sink(std::size_t{index}, coro::settle(each));
        });
    }
    return first;
}

// The failures of all children. Throws `stopped_error` if one was stopped: it has not failed.
template <class Children>
std::vector<std::exception_ptr> failures_of(Children& ended) {
    std::vector<std::exception_ptr> failures;
    ended.for_each([&](auto, auto& each) { failures.push_back(each.failure()); });
    for (const std::exception_ptr& each : failures) {
        if (coro::is_stop(each)) std::rethrow_exception(each);
    }
    return failures;
}

}  // namespace fairlead::combine
