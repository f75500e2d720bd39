// What the user of a stream, or of a copy, has: a connection, a statement that is under way on it,
// and the flow between. It ends with its destruction.
#pragma once

#include "postgres/flow.hpp"
#include "postgres/lease.hpp"
#include "postgres/request.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/statement.hpp>

#include <memory>

namespace fairlead::postgres::detail {

class flowing {
public:
    /// On a connection of which the caller has the lease. Does not wait.
    [[nodiscard]] static result<std::unique_ptr<flowing>> begin(std::shared_ptr<lease> of,
                                                                flow::kind what, statement sql);
    /// On a connection of its own.
    [[nodiscard]] static task<result<std::unique_ptr<flowing>>> begin_alone(
        std::shared_ptr<pool_state> of, flow::kind what, statement sql, time_point deadline);

    flowing(std::shared_ptr<lease> of, flow::kind what, statement sql);
    flowing(const flowing&) = delete;
    flowing& operator=(const flowing&) = delete;
    ~flowing() { flow_->abandon(); }

    [[nodiscard]] flow& with() const noexcept { return *flow_; }

private:
    // The request ends before the lease.
    const std::shared_ptr<lease> of_;
    const std::shared_ptr<flow> flow_;
    request asked_;
};

}  // namespace fairlead::postgres::detail
