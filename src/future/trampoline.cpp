#include <fairlead/detail/future/trampoline.hpp>
#include <fairlead/detail/sched/put_off.hpp>
#include <fairlead/detail/sync/per_thread.hpp>
#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <memory>
#include <new>
#include <utility>

namespace fairlead::futures {
namespace {

// Of a thread that runs a continuation. On its stack.
using queue_of_thread = sync::per_thread<continuation::chain*, class trampoline_of_thread>;

// What a step has left.
class rest final : public basic_task, public sync::recycled {
public:
    rest() noexcept : basic_task{kind, "continuations"} {}

    continuation::chain queue;

private:
    static void run_step(basic_task& task) noexcept;
    static void abandon(basic_task& task) noexcept;
    static const task_kind kind;
};

// Whether a step has the rest. False: there is no step, or no memory for one.
bool post_rest(continuation::chain& queue) noexcept {
    scheduler* const here = scheduler::current();
    if (here == nullptr) return false;
    try {
        auto* const later = new rest;
        later->queue = std::exchange(queue, {});
        here->post(static_cast<basic_task&>(*later));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// The thread runs no continuation yet.
void drain(continuation::chain& queue) noexcept {
    queue_of_thread::set(&queue);
    sched::put_off::set(trampoline::run_queued);
    std::size_t left = trampoline::run_max;
    while (continuation* const next = queue.pop_front()) {
        next->run();
        if (--left != 0) continue;
        left = trampoline::run_max;
        if (!queue.empty() && post_rest(queue)) break;
    }
    sched::put_off::set(nullptr);
    queue_of_thread::set(nullptr);
}

void rest::run_step(basic_task& task) noexcept {
    const std::unique_ptr<rest> self{static_cast<rest*>(&task)};
    drain(self->queue);
}

// The scheduler is destroyed, on a thread that may itself run a continuation.
void rest::abandon(basic_task& task) noexcept {
    const std::unique_ptr<rest> self{static_cast<rest*>(&task)};
    while (continuation* const next = self->queue.pop_front()) trampoline::run(*next);
}

const task_kind rest::kind{.run = run_step, .abandon = abandon};

}  // namespace

void continuation::tell() noexcept { trampoline::run(*this); }

void trampoline::run(continuation& next) noexcept {
    if (continuation::chain* const running = queue_of_thread::get()) {
        running->push_back(next);
        return;
    }
    continuation::chain queue;
    queue.push_back(next);
    drain(queue);
}

void trampoline::run_queued() noexcept {
    continuation::chain* const running = queue_of_thread::get();
    if (running == nullptr) return;
    while (continuation* const next = running->pop_front()) next->run();
}

}  // namespace fairlead::futures
