// How many retries the callers of one service may make together.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <algorithm>
#include <mutex>

namespace fairlead {

/// A bucket of tokens that many calls of `retry` share, so that retries do not multiply an outage.
/// Each call puts a part of a token in, and each retry takes a whole one out: with the ratio 0.1
/// there is one retry for ten calls in the long run, however many fail. Without a token a call
/// fails with its last failure.
///
///     fl::retry_budget to_store;                      // one for each service that is called
///     co_await fl::retry({.budget = &to_store}, [&] { return store.load(key); });
///
/// Any thread. No allocation; a lock for some instructions. Must outlive the calls.
/// Source of the idea: Finagle's RetryBudget.
class retry_budget {
public:
    /// `ratio`: of retries to calls, at least 0. `most`: the tokens of a full bucket, at least 1:
    /// so many retries at once are possible after a quiet time. The bucket begins full.
    explicit retry_budget(double ratio = 0.1, double most = 100) noexcept
        : ratio_{ratio}, most_{most}, tokens_{most} {
        FAIRLEAD_ASSERT(ratio >= 0 && most >= 1, "a retry budget that never allows a retry");
    }

    /// A call begins.
    void deposit() noexcept {
        const std::lock_guard lock{mutex_};
        tokens_ = std::min(most_, tokens_ + ratio_);
    }

    /// Takes a token for a retry. False: there is none.
    [[nodiscard]] bool try_take() noexcept {
        const std::lock_guard lock{mutex_};
        if (tokens_ < 1) return false;
        tokens_ -= 1;
        return true;
    }

    /// The tokens, for reports.
    [[nodiscard]] double tokens() const noexcept {
        const std::lock_guard lock{mutex_};
        return tokens_;
    }

private:
    const double ratio_;
    const double most_;
    mutable sync::mutex mutex_;
    double tokens_;  // guarded by mutex_
};

}  // namespace fairlead
