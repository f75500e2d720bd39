// Brings a continuation to the executor on which it is to run.
#pragma once

#include <fairlead/detail/future/listener.hpp>
#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/task.hpp>

namespace fairlead::futures {

/// Told in place of `next`: posts itself, runs `next` in its step, and frees itself.
class hop final : public listener, basic_task, public sync::recycled {
public:
    explicit hop(executor to) noexcept : basic_task{kind, "continuation"}, to_{to} {}

    void before(continuation& next) noexcept { next_ = &next; }

    void tell() noexcept override;

private:
    static void run_step(basic_task& task) noexcept;
    static void give_back(basic_task& task) noexcept;
    static const task_kind kind;

    const executor to_;
    continuation* next_ = nullptr;
};

}  // namespace fairlead::futures
