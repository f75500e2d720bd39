// The children of one combinator: a group, and a task for each body. Lives in the frame of the
// coroutine that awaits them.
#pragma once

#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/base/fixed_array.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/child_group.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <expected>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::coro {

// How the child has ended. It gives the result away.
template <class T>
settled<T> settle(child<T>& ended) {
    static_assert(!std::is_reference_v<T>,
                  "a std::expected cannot hold a reference: let the task give a pointer");
    if (std::exception_ptr failure = ended.failure(); failure != nullptr) {
        return std::unexpected{std::move(failure)};
    }
    if constexpr (std::is_void_v<T>) {
        static_cast<void>(ended.take());
        return {};
    } else {
        return settled<T>{std::in_place, ended.take()};
    }
}

// What stands for the result of one child of several: their common type, or a variant with an
// alternative for each child.
template <class... T>
struct one_of_types {
    using type = std::variant<value_of<T>...>;
};
template <class T, class... Same>
    requires(std::is_same_v<T, Same> && ...)
struct one_of_types<T, Same...> {
    using type = T;
};

template <class Bodies>
class children;

template <class... T>
class children<some_tasks<T...>> {
public:
    using one = typename one_of_types<T...>::type;
    using all_values = std::tuple<value_of<T>...>;
    using all_settled = std::tuple<settled<T>...>;

    children(const root& waiting, group_rule rule, some_tasks<T...>& bodies)
        : children{waiting, rule, bodies, std::index_sequence_for<T...>{}} {}
    children(const children&) = delete;
    children& operator=(const children&) = delete;

    [[nodiscard]] const child_group& group() const noexcept { return group_; }

    [[nodiscard]] all_ended run(time_point deadline, std::size_t at_once) noexcept {
        return {group_, tasks_, deadline, at_once};
    }

    // Calls visit(index, child) for each, in order. The index is a constant expression.
    template <class Visit>
    void for_each(Visit visit) {
        [&]<std::size_t... Index>(std::index_sequence<Index...>) {
            (visit(std::integral_constant<std::size_t, Index>{}, std::get<Index>(each_)), ...);
        }(std::index_sequence_for<T...>{});
    }

    [[nodiscard]] all_values take_values() {
        return std::apply([](auto&... each) { return all_values{each.take()...}; }, each_);
    }
    [[nodiscard]] all_settled settle_all() {
        return std::apply([](auto&... each) { return all_settled{settle(each)...}; }, each_);
    }

    // The child of this index as one of all.
    template <std::size_t Index, class Child>
    [[nodiscard]] static settled<one> settle_as_one(std::integral_constant<std::size_t, Index>,
                                                    child<Child>& ended) {
        if constexpr (std::is_same_v<Child, one>) {
            return settle(ended);
        } else {
            if (std::exception_ptr failure = ended.failure(); failure != nullptr) {
                return std::unexpected{std::move(failure)};
            }
            return one{std::in_place_index<Index>, ended.take()};
        }
    }

private:
    template <std::size_t... Index>
    children(const root& waiting, group_rule rule, [[maybe_unused]] some_tasks<T...>& bodies,
             std::index_sequence<Index...>)
        : group_{rule},
          each_{typename child<T>::parts{waiting, group_, std::get<Index>(bodies)}...},
          tasks_{&std::get<Index>(each_)...} {}

    child_group group_;
    std::tuple<child<T>...> each_;
    std::array<basic_task*, sizeof...(T)> tasks_;
};

template <class T>
class children<many_tasks<T>> {
public:
    using one = T;
    using all_values = std::vector<value_of<T>>;
    using all_settled = std::vector<settled<T>>;

    children(const root& waiting, group_rule rule, many_tasks<T>& bodies)
        : group_{rule}, each_{bodies.size()} {
        tasks_.reserve(bodies.size());
        for (task<T>& body : bodies) {
            tasks_.push_back(&each_.emplace_back(typename child<T>::parts{waiting, group_, body}));
        }
    }
    children(const children&) = delete;
    children& operator=(const children&) = delete;

    [[nodiscard]] const child_group& group() const noexcept { return group_; }

    [[nodiscard]] all_ended run(time_point deadline, std::size_t at_once) noexcept {
        return {group_, tasks_, deadline, at_once};
    }

    template <class Visit>
    void for_each(Visit visit) {
        std::size_t index = 0;
        for (child<T>& each : each_) visit(index++, each);
    }

    [[nodiscard]] all_values take_values() {
        all_values values;
        values.reserve(each_.size());
        for (child<T>& each : each_) values.push_back(each.take());
        return values;
    }
    [[nodiscard]] all_settled settle_all() {
        all_settled all;
        all.reserve(each_.size());
        for (child<T>& each : each_) all.push_back(settle(each));
        return all;
    }

    [[nodiscard]] static settled<one> settle_as_one(std::size_t, child<T>& ended) {
        return settle(ended);
    }

private:
    child_group group_;
    base::fixed_array<child<T>> each_;
    std::vector<basic_task*> tasks_;
};

}  // namespace fairlead::coro
