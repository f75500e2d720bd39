#include <fairlead/base/time.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/os/cpu.hpp>
#include <fairlead/detail/sched/offered_call.hpp>

#include "sched/runtime/core.hpp"
#include "sched/worker/worker.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace fairlead::sched {

namespace {

// Before a parent sleeps it looks so often, with so many pauses in between. On x86 these are some
// 50 microseconds, a few times as long as it takes to fall asleep and to wake up.
constexpr int looks = 16;
constexpr int pauses = 64;

// A new offer wakes idle workers only. So a parent that sleeps looks for one so often.
constexpr duration look_again = std::chrono::milliseconds{1};

}  // namespace

[[gnu::noinline]] step_forks forks_of_step() noexcept {
    worker* const here = worker::current();
    if (here == nullptr || here->is_alone()) return {nullptr, nullptr};
    return {here->seat().offers_if_forked(), &here->seat().context()};
}

outermost_call::outermost_call() noexcept {
    worker* const here = worker::current();
    seat& at = here->seat();
    home& of = *at.context().of;
    if (at.step().name() == nullptr || of.is_limited()) return;
    static_cast<void>(at.offers());
    offered_forks* const offers = at.offers_if_forked();
    if (offers == nullptr) return;
    offers->begin(of);
    forks_ = {offers, &at.context()};
}

outermost_call::~outermost_call() {
    if (forks_.offers != nullptr) worker::current()->seat().forget_forks();
}

// A worker that takes a call runs it at once, so it is never given back.
const task_kind offered_call::taken_call::kind{
    .run = [](basic_task& task) noexcept { static_cast<taken_call&>(task).of.run_taken(); },
    .abandon =
        [](basic_task& /*task*/) noexcept {
            FAIRLEAD_ASSERT(false, "a call was given back that runs at once");
        }};

basic_task& offered_call::detach() noexcept { return *std::construct_at(&taken_, *this); }

// When the call has ended, the worker waits until parents that are stealing from it have finished.
// So a parent finds calls of its own tree there, or sees that its call has ended.
void offered_call::run_taken() noexcept {
    std::optional<outermost_call> begins;
    step_forks here = forks_of_step();
    if (here.offers == nullptr) here = begins.emplace().forks();
    // A worker that searches has no forks. A parent waits only when all of its forks are gone, as
    // thieves take the oldest first.
    FAIRLEAD_ASSERT(here.offers == nullptr || here.offers->empty(), "a call begins above forks");
    at_.store(here.offers, sync::relaxed);  // it only says where to look
    // What the call starts belongs where the parent's tasks do.
    step_context as_parent = parent_;
    seat& at = worker::current()->seat();
    step_context* const covered = at.exchange_context(as_parent);
    try {
        call();
    } catch (...) {
        taken_.failure = std::current_exception();
    }
    at.exchange_context(*covered);
    ended_.send();  // the last touch of the call
    if (here.offers != nullptr) here.offers->wait_for_thieves();
}

std::exception_ptr offered_call::join() noexcept {
    for (int look = 0; !ended_.try_receive();) {
        offered_forks* const taker = at_.load(sync::relaxed);
        if (taker != nullptr && !taker->empty()) {
            taker->thief_comes();
            const bool has_ended = ended_.try_receive();
            forked* const work = has_ended ? nullptr : taker->steal();
            taker->thief_goes();
            if (has_ended) break;
            if (work != nullptr) {
                static_cast<offered_call*>(work)->run_within();
                look = 0;
                continue;
            }
        }
        if (++look < looks) {
            for (int i = 0; i != pauses; ++i) os::relax();
        } else if (ended_.receive_until(after(clock::system_now(), look_again))) {
            break;
        }
    }
    std::exception_ptr failure = std::move(taken_.failure);
    std::destroy_at(&taken_);
    return failure;
}

// Runs the call on top of the stack of a parent that waits.
void offered_call::run_within() noexcept {
    static_cast<void>(detach());
    offered_forks& own = *forks_of_step().offers;
    const offered_forks::running_task covered = own.enter(depth_);
    run_taken();
    own.leave(covered);
}

}  // namespace fairlead::sched
