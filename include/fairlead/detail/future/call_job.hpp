// A function that runs as a task, and gives the result of a future.
#pragma once

#include <fairlead/detail/future/flat.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/task.hpp>

#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

namespace fairlead::futures {

/// The task, its function and the pair of its future in one object. It calls the function once.
template <class Result, class E, class F, class... Args>
class call_job final : public fulfilment<Result, E>, public basic_task {
public:
    template <class... From>
    call_job(task_name name, std::stop_token stop, From&&... call)
        : basic_task{kind, name, sched::access::depth_of_new_task()},
          stop_{std::move(stop)},
          call_{std::in_place, std::forward<From>(call)...} {}

private:
    static void run_step(basic_task& task) noexcept {
        auto& self = static_cast<call_job&>(task);
        if (self.stop_.stop_requested()) return self.give_up();
        try {
            std::apply([&](F& f, Args&... args) { self.fulfil(std::move(f), std::move(args)...); },
                       *self.call_);
        } catch (...) {
            self.fail_with_current_exception();
        }
        self.call_.reset();
        self.finish();
    }
    static void give_back(basic_task& task) noexcept { static_cast<call_job&>(task).give_up(); }

    // The function was not called.
    void give_up() noexcept {
        call_.reset();
        this->fail_with(wait_error::stopped);
        this->settle();
    }

    // The future that the function has returned has its result.
    void run() noexcept override { this->finish_inner(); }
    void abandon() noexcept override { this->finish_inner(); }

    static constexpr task_kind kind{.run = run_step, .abandon = give_back};

    std::stop_token stop_;
    std::optional<std::tuple<F, Args...>> call_;
};

}  // namespace fairlead::futures
