// A connection that one transaction has. It is given back when the last user of the lease is gone.
#pragma once

#include "postgres/pool_state.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/transaction.hpp>

#include <memory>
#include <utility>

namespace fairlead::postgres::detail {

class lease {
public:
    /// Of no connection yet.
    explicit lease(std::shared_ptr<pool_state> pool) noexcept : pool_{std::move(pool)} {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() {
        if (at_ != nullptr) pool_->give_back(*at_);
    }

    /// Takes over a connection that was granted. Once.
    void hold(std::shared_ptr<seat> at) noexcept { at_ = std::move(at); }

    /// Executes statements in their order.
    [[nodiscard]] static task<result<row_sets>> ask(std::shared_ptr<lease> of, statements all,
                                                    time_point deadline);
    /// Waits for a connection.
    [[nodiscard]] static task<result<std::shared_ptr<lease>>> take(std::shared_ptr<pool_state> of,
                                                                   time_point deadline);
    void make_unclean() noexcept { pool_->make_unclean(*at_); }
    [[nodiscard]] pool_state& pool() const noexcept { return *pool_; }
    [[nodiscard]] const std::shared_ptr<seat>& at() const noexcept { return at_; }

private:
    const std::shared_ptr<pool_state> pool_;
    std::shared_ptr<seat> at_;
};

/// The statement that begins a transaction.
[[nodiscard]] statement begin_of(const transaction_options& how);

}  // namespace fairlead::postgres::detail
