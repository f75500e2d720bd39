// Runs hot paths a known number of times, between marks. What a path costs is the difference of two
// sizes, so all that is done once falls out.
//
// Instructions are counted by callgrind, which makes a part of its profile at each call of
// `at_mark`; atomics and readings of the clock by the program. tools/counts.py runs it and reads
// both.
//
// Everything that is measured runs on one thread, and nothing in it depends on the time: the clock
// of the program goes on by as much at each reading. So the counts are the same in every run.
#pragma once

#include "counts/tally.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench::counts {

/// Operations are run in groups of this many at most; every number of them is a multiple of it.
inline constexpr std::uint64_t burst = 256;

class meter {
public:
    /// Runs only the path `only`, or all if it is empty: `size` operations, and then twice as many.
    meter(std::string_view only, std::uint64_t size) : only_{only}, size_{size} {}

    /// What is measured from now on belongs to this section of the page.
    void section(const char* name) { section_ = name; }

    /// `run(operations)` runs the path, on this thread.
    using plain_path = void (*)(std::uint64_t operations);
    void measure(const char* name, plain_path run);

    /// The same for a coroutine: alone on a scheduler, and on one with two workers, of which the
    /// other is in a long step.
    using task_path = fairlead::task<> (*)(fairlead::scheduler& home, std::uint64_t operations);
    void measure(const char* name, task_path run);

    /// The same, only on `home`, which runs on the caller.
    void measure(const char* name, fairlead::scheduler& home, task_path run);

    /// One JSON object for all.
    void print() const;

private:
    struct measured {
        const char* section;
        std::string name;
        tally marks[3];  // after the warm-up, after one size, after two
    };

    [[nodiscard]] bool is_asked(std::string_view name) const {
        return only_.empty() || name == only_;
    }
    [[nodiscard]] measured& begin(std::string name);
    [[nodiscard]] fairlead::task<> run_all(std::string name, fairlead::scheduler& home,
                                           task_path run);

    std::string only_;
    std::uint64_t size_;
    const char* section_ = "";
    std::vector<measured> found_;
};

void measure_structures(meter& to);
void measure_posts(meter& to);
void measure_coroutines(meter& to);
void measure_calls(meter& to);
void measure_timers(meter& to);
void measure_waits(meter& to);
void measure_results(meter& to);

}  // namespace bench::counts
