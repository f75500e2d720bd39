#include <fairlead/io/process.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "io/child.hpp"
#include "io/spawn_plan.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <utility>

namespace fairlead::io {

using detail::code_of;
using detail::system_error;

namespace {

// On a thread that may block. 0, or an error of the system; then no child runs.
int start(spawn_plan& plan, child& as) noexcept {
    const auto id = plan.start();
    if (!id) return id.error();
    const int error = as.watch_end(*id);
    if (error != 0) as.kill_and_give_up();
    return error;
}

// A child that no `process` has yet: it ends with the task of the spawn, which may be destroyed
// with its scheduler before it hears of the start.
struct unowned_child {
    std::shared_ptr<child> of;

    ~unowned_child() {
        if (of != nullptr && of->id() != 0) of->kill_and_give_up();
    }
};

}  // namespace

process::process(std::shared_ptr<child> started, watch its_end) noexcept
    : child_{std::move(started)}, its_end_{std::move(its_end)} {}

process::process(process&& other) noexcept = default;

process& process::operator=(process&& other) noexcept {
    if (this != &other) {
        end();
        child_ = std::move(other.child_);
        its_end_ = std::move(other.its_end_);
        in_ = std::move(other.in_);
        out_ = std::move(other.out_);
        err_ = std::move(other.err_);
    }
    return *this;
}

process::~process() { end(); }

void process::end() noexcept {
    its_end_.end();
    if (child_ != nullptr) std::exchange(child_, nullptr)->kill_and_give_up();
}

task<std::expected<process, std::error_code>> process::spawn(std::vector<std::string> arguments) {
    return spawn(std::move(arguments), process_options{});
}

task<std::expected<process, std::error_code>> process::spawn(std::vector<std::string> arguments,
                                                             process_options options) {
    scheduler& home = co_await current_scheduler();
    epoll_driver& driver = epoll_driver::of(home);
    spawn_plan plan{arguments, options};
    if (const int error = plan.prepare()) co_return std::unexpected{system_error(error)};
    std::array<pipe_stream, 3> streams;
    for (std::size_t i = 0; i != streams.size(); ++i) {
        if (!plan.own_end(i).valid()) continue;
        auto made = pipe_stream::adopt(driver, std::move(plan.own_end(i)));
        if (!made) co_return std::unexpected{made.error()};
        streams[i] = std::move(*made);
    }
    // First, as a child for which there is no memory could not be awaited.
    unowned_child made{std::make_shared<child>(options.group == child_group::own)};
    const auto call = [&] { return start(plan, *made.of); };
    const auto error = co_await as_result(blocking(std::ref(call)));
    if (!error) co_return std::unexpected{code_of(error.error())};
    if (*error != 0) co_return std::unexpected{system_error(*error)};
    auto its_end = watch::make(driver, made.of->ended());
    if (!its_end) co_return std::unexpected{its_end.error()};
    process whole{std::move(made.of), std::move(*its_end)};
    whole.in_ = std::move(streams[0]);
    whole.out_ = std::move(streams[1]);
    whole.err_ = std::move(streams[2]);
    co_return std::move(whole);
}

pid_t process::id() const noexcept { return child_->id(); }

task<std::expected<exit_status, std::error_code>> process::wait(time_point deadline) {
    for (;;) {
        if (const auto ended = child_->take_status()) co_return *ended;
        const auto there = co_await its_end_.until(POLLIN, deadline);
        if (!there) co_return std::unexpected{there.error()};
    }
}

std::expected<void, std::error_code> process::kill(int signal) noexcept {
    const int error = child_->send(signal);
    if (error != 0) return std::unexpected{system_error(error)};
    return {};
}

task<std::expected<exit_status, std::error_code>> process::terminate(duration grace,
                                                                     time_point deadline) {
    scheduler& home = co_await current_scheduler();
    for (const int signal : {SIGTERM, SIGKILL}) {
        const auto sent = kill(signal);
        // It may have ended, and a wait then gives how.
        if (!sent && sent.error() != std::errc::no_such_process) {
            co_return std::unexpected{sent.error()};
        }
        const time_point until = signal == SIGTERM ? after(home.now(), grace) : never;
        const auto ended = co_await wait(std::min(deadline, until));
        const bool goes_on = !ended && ended.error() == std::errc::timed_out && until < deadline;
        if (!goes_on) co_return ended;
    }
    std::unreachable();
}

std::expected<void, std::error_code> process::leave() {
    if (const std::error_code failed = child_->give_up()) return std::unexpected{failed};
    its_end_.end();
    child_.reset();
    return {};
}

}  // namespace fairlead::io
