// An executor that may outlive the handle of its group.
#pragma once

#include <fairlead/detail/sched/access.hpp>
#include <fairlead/sched/executor.hpp>

namespace fairlead::sched {

class held_executor {
public:
    explicit held_executor(executor of) noexcept : held_{of} { access::home_of(held_).hold(); }
    held_executor(const held_executor&) = delete;
    held_executor& operator=(const held_executor&) = delete;
    ~held_executor() { access::home_of(held_).let_go(); }

    operator executor() const noexcept { return held_; }

private:
    const executor held_;
};

}  // namespace fairlead::sched
