#include "io/signal_table.hpp"

#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/io/signal_set.hpp>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>

namespace fairlead::io {
namespace {

constexpr int signals_max = 64;

// The handler reads the list without a lock. A removal first takes the box from the list, and then
// waits until no handler runs that may have seen it [SH1]:
//     the handler                      a removal
//     1. counts itself as running      1. takes the box from the list
//     2. reads the list                2. waits until none is running
constinit std::array<sync::atomic<signal_mailbox*>, signal_set::sets_max> listed{};
constinit sync::atomic<int> handlers_running{0};

// Guarded by `changes`: how many boxes want each signal, and its handler from before.
constinit sync::mutex changes;
struct taken_signal {
    unsigned boxes = 0;
    struct sigaction before {};
};
std::array<taken_signal, signals_max + 1> taken;

std::uint64_t bit_of(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

// Calls nothing that a handler must not call, and leaves errno as it was.
void take_signal(int signal) {
    const int error_before = errno;
    handlers_running.fetch_add(1, sync::seq_cst);  // [SH1]
    for (auto& each : listed) {
        signal_mailbox* const box = each.load(sync::seq_cst);  // [SH1]
        if (box == nullptr || (box->wanted & bit_of(signal)) == 0) continue;
        box->came.fetch_or(bit_of(signal), sync::release);
        const std::uint64_t one = 1;
        // It fails when it has been told so often that it cannot count on: then it is told.
        static_cast<void>(!::write(box->told, &one, sizeof(one)));
    }
    handlers_running.fetch_sub(1, sync::seq_cst);  // [SH1]
    errno = error_before;
}

bool is_ours(const struct sigaction& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == take_signal;
}

// Under the mutex, all of these.
std::error_code take_over(int signal) noexcept {
    taken_signal& of = taken[static_cast<std::size_t>(signal)];
    struct sigaction ours {};
    struct sigaction before {};
    ours.sa_handler = take_signal;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&ours.sa_mask);
    // Also if there are boxes: the program may have installed another handler meanwhile.
    if (::sigaction(signal, &ours, &before) != 0) return {errno, std::system_category()};
    if (!is_ours(before)) of.before = before;
    ++of.boxes;
    return {};
}
void put_back(int signal) noexcept {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && is_ours(now)) {
        ::sigaction(signal, &taken[static_cast<std::size_t>(signal)].before, nullptr);
    }
}
void hand_back(int signal) noexcept {
    if (--taken[static_cast<std::size_t>(signal)].boxes == 0) put_back(signal);
}

void hand_back_all(std::uint64_t signals) noexcept {
    for (int signal = 1; signal <= signals_max; ++signal) {
        if ((signals & bit_of(signal)) != 0) hand_back(signal);
    }
}

// A child of fork has the handlers from before: its signals are none of its parent's sets, which it
// does not wait with. No handler of ours runs in it, as signals are blocked until it has forgotten
// the sets; those that come meanwhile meet the handlers from before.
//
// A child has none of the threads that run a handler, or change the list, while the process forks.
// So the list does not change at that moment, and the child waits for no thread that it lacks.
constinit sigset_t mask_at_fork{};  // guarded by `changes`

void before_fork() noexcept {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    changes.lock();
    mask_at_fork = before;
}
void after_fork() noexcept {
    const sigset_t before = mask_at_fork;
    changes.unlock();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}
void after_fork_in_child() noexcept {
    handlers_running.store(0, sync::relaxed);
    for (auto& each : listed) each.store(nullptr, sync::relaxed);
    for (int signal = 1; signal <= signals_max; ++signal) {
        if (std::exchange(taken[static_cast<std::size_t>(signal)].boxes, 0U) != 0) put_back(signal);
    }
    after_fork();
}

void prepare_for_forks() noexcept {
    static const int prepared = ::pthread_atfork(before_fork, after_fork, after_fork_in_child);
    static_cast<void>(prepared);
}

}  // namespace

std::error_code list_mailbox(signal_mailbox& box) noexcept {
    prepare_for_forks();
    const std::lock_guard lock{changes};
    std::size_t free = 0;
    while (free != listed.size() && listed[free].load(sync::relaxed) != nullptr) ++free;
    if (free == listed.size()) {
        return std::make_error_code(std::errc::resource_unavailable_try_again);
    }
    listed[free].store(&box, sync::seq_cst);  // first: what comes from now on is told
    std::uint64_t done = 0;
    for (int signal = 1; signal <= signals_max; ++signal) {
        if ((box.wanted & bit_of(signal)) == 0) continue;
        if (const std::error_code refused = take_over(signal)) {
            hand_back_all(done);
            listed[free].store(nullptr, sync::seq_cst);  // [SH1]
            while (handlers_running.load(sync::seq_cst) != 0) os::yield();
            return refused;
        }
        done |= bit_of(signal);
    }
    return {};
}

void remove_mailbox(signal_mailbox& box) noexcept {
    const std::lock_guard lock{changes};
    const auto is_box = [&box](const auto& each) { return each.load(sync::relaxed) == &box; };
    const auto found = std::ranges::find_if(listed, is_box);
    if (found == listed.end()) return;  // a child of fork has forgotten it
    hand_back_all(box.wanted);
    found->store(nullptr, sync::seq_cst);                           // [SH1]
    while (handlers_running.load(sync::seq_cst) != 0) os::yield();  // [SH1]
}

}  // namespace fairlead::io
