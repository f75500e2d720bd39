#include <fairlead/detail/coro/thread_wait.hpp>
#include <fairlead/detail/wait/line_wait.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fairlead::wait {

namespace {

class thread_of_line final : sync::line_waiter, coro::thread_wait {
public:
    thread_of_line(sync::line& of, std::uint32_t needs, std::uint32_t takes) noexcept
        : line_waiter{needs, takes}, thread_wait{nullptr}, of_{of} {}

    [[nodiscard]] waited<void> run(time_point deadline) {
        if (of_.enter(*this) == sync::line::entry::waits) {
            if (const auto early = wait_until(deadline)) return std::unexpected{*early};
        }
        if (take_grant()) return {};
        return std::unexpected{wait_error::closed};
    }

private:
    void tell() noexcept override { thread_wait::tell(); }
    [[nodiscard]] bool withdraw() noexcept override { return of_.withdraw(*this); }

    sync::line& of_;
};

}  // namespace

waited<void> wait_on_thread(sync::line& of, std::uint32_t needs, std::uint32_t takes,
                            time_point deadline) {
    FAIRLEAD_ASSERT(
        scheduler::current() == nullptr,
        "a wait that blocks its thread was called on a worker: co_await the other form");
    return thread_of_line{of, needs, takes}.run(deadline);
}

}  // namespace fairlead::wait
