// A continuation: takes the result of one future, and makes that of the next. One object, which is
// the pair of the next future, too.
#pragma once

#include <fairlead/detail/future/flat.hpp>
#include <fairlead/detail/future/hop.hpp>
#include <fairlead/sched/executor.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace fairlead::futures {

/// `Call(result, stage)` is called once, and fulfils the stage or writes a failure.
template <class T, class E, class Result, class NextE, class Call>
class stage final : public fulfilment<Result, NextE> {
public:
    explicit stage(Call&& call) : call_{std::move(call)} {}

    /// Waits for the result of `source`. `through`: null, or what brings the stage to its executor.
    void start(consumer<T, E>&& source, std::unique_ptr<hop> through) noexcept {
        source_ = std::move(source);
        pair_base& of = source_.of();
        listener* by = this;
        if (through != nullptr) {
            through->before(*this);
            by = through.release();
        }
        if (!of.attach_for_good(*by)) by->tell();
    }

    void run() noexcept override {
        if (!source_.valid()) return this->finish_inner();
        try {
            std::expected<T, E> result = source_.take();
            (*call_)(result, *this);
        } catch (...) {
            this->fail_with_current_exception();
        }
        call_.reset();
        this->finish();
    }

    void abandon() noexcept override {
        source_.drop();
        this->fail_with(wait_error::stopped);
        call_.reset();
        this->settle();
    }

private:
    consumer<T, E> source_;
    std::optional<Call> call_;
};

/// Continues `source` by `call`, on `where` unless that refers to nothing. Throws `std::bad_alloc`,
/// and then `source` is what it was.
template <class Result, class NextE, class T, class E, class Call>
[[nodiscard]] consumer<flat_value<Result>, NextE> continue_with(consumer<T, E>& source,
                                                                executor where, Call call) {
    static_cast<void>(source.of());
    std::unique_ptr<hop> through;
    if (where != executor{}) through = std::make_unique<hop>(where);
    auto* const next = new stage<T, E, Result, NextE, Call>{std::move(call)};
    consumer<flat_value<Result>, NextE> result{*next};
    next->start(std::move(source), std::move(through));
    return result;
}

}  // namespace fairlead::futures
