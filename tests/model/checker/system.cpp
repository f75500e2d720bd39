// The system below a scenario: futexes, threads and time as the checker has them.
#include "model/checker/atomic.hpp"

#include <fairlead/base/clock_override.hpp>
#include <fairlead/detail/os/barrier.hpp>
#include <fairlead/detail/os/futex.hpp>
#include <fairlead/detail/os/thread.hpp>

#include <utility>

namespace fairlead::os {

void futex_wait(const std::uint32_t* word, std::uint32_t expected, time_point deadline) noexcept {
    model::explorer& model = *model::explorer::running();
    // With a deadline it depends on the time, which any step may move.
    model.visible(deadline == never ? model::step{model::step::write, false, word}
                                    : model::step{model::step::everything});
    // The word is that of an atomic; the kernel compares its newest value and queues in one step.
    if (reinterpret_cast<const sync::atomic<std::uint32_t>*>(word)->newest() != expected) return;
    if (model.fails_for_no_reason()) return;
    const std::int64_t until = deadline.time_since_epoch().count();
    if (until <= model.now()) return;
    static_cast<void>(model.block(word, "sleeps on a futex", until, {}));
}

void futex_wake(const std::uint32_t* word, int count) noexcept {
    model::explorer& model = *model::explorer::running();
    model.visible({model::step::write, false, word});
    if (model.tracing()) model.note("wakes who sleeps on the futex");
    model.wake(word, static_cast<std::size_t>(count));
}

std::expected<thread, std::error_code> start_thread(const std::string&,
                                                    std::move_only_function<void()> body) {
    return thread{model::explorer::running()->start_thread(std::move(body))};
}

void thread::join() noexcept {
    model::explorer::running()->join_thread(handle_);
    joinable_ = false;
}

int thread_id() noexcept { return 0; }

bool has_heavy_barrier() noexcept { return true; }

bool heavy_barrier() noexcept {
    model::explorer& model = *model::explorer::running();
    model.visible({model::step::everything});
    if (model.tracing()) model.note("barrier of all threads");
    model.fence_of_all();
    return true;
}

void yield() noexcept { model::explorer::running()->yield(); }

}  // namespace fairlead::os

namespace fairlead {

// The clock of the checked program, in place of src/base/time.cpp: it stands still, but a time-out
// moves it to its deadline.
time_point clock::now() noexcept {
    model::explorer& model = *model::explorer::running();
    model.visible({model::step::read, false, &model});
    return time_point{duration{model.now()}};
}

time_point clock::system_now() noexcept { return now(); }

bool clock_override::is_active() noexcept { return false; }

}  // namespace fairlead
