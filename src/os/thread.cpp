#include <fairlead/detail/os/thread.hpp>

#include "os/task_file.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

namespace fairlead::os {
namespace {

static_assert(sizeof(pthread_t) <= sizeof(std::uintptr_t));

struct start {
    std::string name;
    std::move_only_function<void()> body;
};

extern "C" void* run_started(void* given) {
    const std::unique_ptr<start> mine{static_cast<start*>(given)};
    pthread_setname_np(pthread_self(), mine->name.c_str());
    // By default the kernel ends a sleep up to 50 us late, so that one interrupt ends several.
    prctl(PR_SET_TIMERSLACK, 1UL);  // ns
    mine->body();
    return nullptr;
}

}  // namespace

std::expected<thread, std::error_code> start_thread(const std::string& name,
                                                    std::move_only_function<void()> body) {
    auto given = std::make_unique<start>(name.substr(0, 15), std::move(body));
    pthread_t handle{};
    if (const int error = pthread_create(&handle, nullptr, run_started, given.get())) {
        return std::unexpected{std::error_code{error, std::system_category()}};
    }
    static_cast<void>(given.release());  // the thread owns it now
    return thread{static_cast<std::uintptr_t>(handle)};
}

void thread::join() noexcept {
    pthread_join(static_cast<pthread_t>(handle_), nullptr);
    joinable_ = false;
}

void thread::detach() noexcept {
    pthread_detach(static_cast<pthread_t>(handle_));
    joinable_ = false;
}

int thread_id() noexcept { return ::gettid(); }

// "<id> (<name>) <state> ..."; a name may have parentheses.
bool is_blocked(int id) noexcept {
    std::array<char, 128> text;
    const std::string_view line = read_task_file(id, "stat", text);
    const std::size_t state = line.rfind(") ");
    if (state == std::string_view::npos || state + 2 == line.size()) return false;
    return line[state + 2] == 'S' || line[state + 2] == 'D';
}

void yield() noexcept { sched_yield(); }

}  // namespace fairlead::os
