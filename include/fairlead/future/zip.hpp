// One future of several: `zip` for a few of any types, `sequence` for a container of one type.
//
//     co_await fl::zip(load(a), load(b));                       // std::tuple
//     co_await fl::sequence(std::move(loads));                  // std::vector
//     co_await fl::sequence_settled(std::move(loads));          // std::vector of std::expected
//
// `zip` and `sequence` fail as soon as one of the futures fails, whichever that is, and drop the
// futures that have no result yet: `promise::on_unwanted` tells their promises. Void counts as
// `std::monostate` in a tuple.
//
// Each call allocates the object that gathers the results, and that of the next future; `sequence`
// also a vector. They throw `std::bad_alloc`, and then the futures that were moved in are dropped.
#pragma once

#include <fairlead/detail/future/gathering.hpp>
#include <fairlead/future/future.hpp>
#include <fairlead/future/promise.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <expected>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead {

/// @cond internal
namespace futures {

template <class T>
using value_in_tuple = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T, class E>
[[nodiscard]] value_in_tuple<T> take_value(pair<T, E>& from) {
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        return std::move(*from.result());
    }
}

template <class E, class... Sources>
class zipped;

template <class E, class... T, class... From>
class zipped<E, consumer<T, From>...> final : public gathering {
public:
    using value = std::tuple<value_in_tuple<T>...>;

    zipped(promise<value, E>&& result, consumer<T, From>&&... sources)
        : gathering{sizeof...(T)}, result_{std::move(result)}, sources_{std::move(sources)...} {}

    void begin() noexcept { start(arrivals_); }

private:
    // Calls `use` with the source of this number.
    template <class Use>
    void with(std::size_t index, Use use) noexcept {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            static_cast<void>(((I == index && (use(std::get<I>(sources_)), true)) || ...));
        }(std::index_sequence_for<T...>{});
    }

    [[nodiscard]] pair_base& source(std::size_t index) noexcept override {
        pair_base* found = nullptr;
        with(index, [&](auto& from) { found = &from.of(); });
        return *found;
    }
    [[nodiscard]] bool is_failure(std::size_t index) noexcept override {
        bool answer = false;
        with(index, [&](auto& from) { answer = !from.of().result(); });
        return answer;
    }
    void leave_source(std::size_t index) noexcept override {
        with(index, [](auto& from) { from.drop(); });
    }
    void fail(std::size_t index) noexcept override {
        with(index, [&](auto& from) {
            result_.fail(convert_failure<E>(std::move(from.of().result().error())));
        });
    }
    void complete() noexcept override {
        std::apply(
            [&](auto&... from) { result_.set_by([&] { return value{take_value(from.of())...}; }); },
            sources_);
    }

    promise<value, E> result_;
    std::tuple<consumer<T, From>...> sources_;
    std::array<arrival, sizeof...(T)> arrivals_;
};

/// `Value`: of the result, made by `Make` of the sources.
template <class T, class E, class Value, bool Settled>
class sequenced final : public gathering {
public:
    sequenced(promise<Value, E>&& result, std::vector<consumer<T, E>>&& sources)
        : gathering{sources.size()},
          result_{std::move(result)},
          sources_{std::move(sources)},
          arrivals_{std::make_unique<arrival[]>(sources_.size())} {}

    void begin() noexcept { start({arrivals_.get(), sources_.size()}); }

private:
    [[nodiscard]] pair_base& source(std::size_t index) noexcept override {
        return sources_[index].of();
    }
    [[nodiscard]] bool is_failure(std::size_t index) noexcept override {
        return !Settled && !sources_[index].of().result();
    }
    void leave_source(std::size_t index) noexcept override { sources_[index].drop(); }
    void fail(std::size_t index) noexcept override {
        result_.fail(std::move(sources_[index].of().result().error()));
    }
    void complete() noexcept override {
        result_.set_by([&]() -> Value {
            if constexpr (!std::is_void_v<Value>) {
                Value all;
                all.reserve(sources_.size());
                for (auto& from : sources_) {
                    if constexpr (Settled) {
                        all.push_back(std::move(from.of().result()));
                    } else {
                        all.push_back(take_value(from.of()));
                    }
                }
                return all;
            }
        });
    }

    promise<Value, E> result_;
    std::vector<consumer<T, E>> sources_;
    std::unique_ptr<arrival[]> arrivals_;
};

template <class Value, bool Settled, class Container>
[[nodiscard]] auto gather(Container& container) {
    using one = typename Container::value_type;
    using T = typename one::value_type;
    using E = typename one::failure_type;
    std::vector<consumer<T, E>> sources;
    sources.reserve(container.size());
    for (one& each : container) sources.push_back(each.release());
    auto [promise, result] = make_promise<Value, E>();
    (new sequenced<T, E, Value, Settled>{std::move(promise), std::move(sources)})->begin();
    return std::move(result);
}

template <class T>
using values_of = std::conditional_t<std::is_void_v<T>, void, std::vector<value_in_tuple<T>>>;

}  // namespace futures
/// @endcond

/// A container of futures of one type, such as a `std::vector`.
template <class Container>
concept container_of_futures = std::same_as<typename Container::value_type,
                                            future<typename Container::value_type::value_type,
                                                   typename Container::value_type::failure_type>>;

/// The values of all the futures, or the first failure in time. `E`: the failure type of the
/// result, that of the first future unless it is named; `failure_traits<E>` converts failures of
/// other types.
template <class E = void, class T, class From, class... U, class... OtherFrom>
[[nodiscard]] auto zip(future<T, From> first, future<U, OtherFrom>... rest) {
    using failure = std::conditional_t<std::is_void_v<E>, From, E>;
    using gathered =
        futures::zipped<failure, futures::consumer<T, From>, futures::consumer<U, OtherFrom>...>;
    auto [promise, result] = make_promise<typename gathered::value, failure>();
    (new gathered{std::move(promise), first.release(), rest.release()...})->begin();
    return std::move(result);
}

/// The values of all the futures of a container, in order, as a `std::vector`; void for futures of
/// void. Or the first failure in time. That of an empty container is there at once.
template <container_of_futures Container>
[[nodiscard]] auto sequence(Container all) {
    using one = typename Container::value_type;
    return futures::gather<futures::values_of<typename one::value_type>, false>(all);
}

/// The results of all the futures of a container, in order, as a `std::vector` of `std::expected`,
/// once all are there. No failure of theirs is its failure.
template <container_of_futures Container>
[[nodiscard]] auto sequence_settled(Container all) {
    using one = typename Container::value_type;
    return futures::gather<std::vector<typename one::result_type>, true>(all);
}

}  // namespace fairlead
