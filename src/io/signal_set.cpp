#include <fairlead/io/signal_set.hpp>

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/watch.hpp>
#include <fairlead/os/unique_fd.hpp>

#include "io/signal_table.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead::io {
namespace {

// A handler of those that are left out would return to the fault that has raised them.
bool can_be_awaited(int signal) noexcept {
    constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    return signal >= 1 && signal <= 64 && signal != SIGKILL && signal != SIGSTOP &&
           std::ranges::find(faults, signal) == std::end(faults);
}

}  // namespace

struct signal_set::state {
    state() = default;
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
        if (is_listed) remove_mailbox(box);
    }

    // The lowest signal that has come, or 0.
    [[nodiscard]] int take() noexcept {
        // acquire: what was done before the signal was sent is seen.
        const std::uint64_t came = box.came.load(sync::acquire);
        if (came == 0) return 0;
        const int lowest = std::countr_zero(came);
        box.came.fetch_and(~(std::uint64_t{1} << lowest), sync::relaxed);
        return lowest + 1;
    }

    signal_mailbox box;
    bool is_listed = false;
    watch waits;  // has the descriptor of the box
};

signal_set::signal_set(std::unique_ptr<state> made) noexcept : state_{std::move(made)} {}
signal_set::signal_set(signal_set&&) noexcept = default;
signal_set& signal_set::operator=(signal_set&&) noexcept = default;
signal_set::~signal_set() = default;

std::expected<signal_set, std::error_code> signal_set::make(epoll_driver& driver,
                                                            std::span<const int> signals) {
    auto made = std::make_unique<state>();
    signal_mailbox& box = made->box;
    for (const int each : signals) {
        if (!can_be_awaited(each)) {
            return std::unexpected{std::make_error_code(std::errc::invalid_argument)};
        }
        box.wanted |= std::uint64_t{1} << (each - 1);
    }
    os::unique_fd told{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!told.valid()) return detail::last_failure();
    auto waits = watch::make(driver, std::move(told));
    if (!waits) return std::unexpected{waits.error()};
    made->waits = std::move(*waits);
    box.told = made->waits.fd();
    if (const std::error_code refused = list_mailbox(box)) return std::unexpected{refused};
    made->is_listed = true;
    return signal_set{std::move(made)};
}

task<std::expected<int, std::error_code>> signal_set::next(time_point deadline) {
    state& of = *state_;
    for (;;) {
        // In this order: what comes after the look at `came` is told once more.
        eventfd_t times = 0;
        static_cast<void>(!::eventfd_read(of.box.told, &times));
        if (const int signal = of.take()) {
            // More signals may have come with it.
            static_cast<void>(!::eventfd_write(of.box.told, 1));
            co_return signal;
        }
        const auto there = co_await of.waits.until(POLLIN, deadline);
        if (!there) co_return std::unexpected{there.error()};
    }
}

}  // namespace fairlead::io
