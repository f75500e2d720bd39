// Fairlead: coroutines that await a call that blocks, callbacks that block in place, and steps that
// do not say so.
#include "w16/blocking.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fl = fairlead;

namespace {

using bench::w16::block_for;

fl::task<> compute(bench::w16::others& all) {
    while (all.step()) co_await fl::yield();
    all.leave();
}

fl::task<> call(std::uint64_t span_ms, std::latch& left) {
    // gcc12: trivial
    co_await fl::blocking([span_ms] { block_for(span_ms); });
    left.count_down();
}

class fairlead_calls {
public:
    explicit fairlead_calls(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers),
                      .blocked_after = std::chrono::milliseconds{5},  // also with one worker
                      .on_blocked = [](const fl::blocked_step&) noexcept {}}} {}

    void spawn_other(bench::w16::others& all) { fl::spawn(scheduler_, compute(all)).detach(); }

    void call(bool in_place, std::uint64_t span_ms, std::latch& left) {
        if (!in_place) return fl::spawn(scheduler_, ::call(span_ms, left)).detach();
        scheduler_.post([span_ms, &left] {
            fl::block_in_place([span_ms] { block_for(span_ms); });
            left.count_down();
        });
    }

    void block_undeclared(std::uint64_t span_ms, std::atomic<std::uint64_t>& begun_ns,
                          std::latch& left) {
        scheduler_.post([span_ms, &begun_ns, &left] {
            begun_ns = bench::now_ns();
            block_for(span_ms);
            left.count_down();
        });
    }

private:
    fl::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W16", "fairlead", bench::w16::measure<fairlead_calls>);
}
