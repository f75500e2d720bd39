// What runs on threads that may block, while workers run tasks.
#pragma once

#include <fairlead/detail/base/list.hpp>

namespace fairlead::sched {

class blocking_pool;

/// A call that may block. From its begin on the pool owns it, until `run` has told the waiting task
/// that it is over, or returns.
class blocking_job {
public:
    virtual void run() noexcept = 0;

protected:
    ~blocking_job() = default;

private:
    friend class blocking_pool;

    // While it is queued, under the mutex of the pool.
    base::list_links<blocking_job> links_;
};

}  // namespace fairlead::sched
