#include "counts/meter.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/callback_task.hpp>

#include <cstdio>
#include <semaphore>
#include <utility>

namespace fl = fairlead;

// Callgrind is told its name.
extern "C" [[gnu::noinline]] void at_mark() {
    asm volatile("");  // not to be taken for a function without effect
}

namespace bench::counts {
namespace {

// Between marks nothing may depend on how far the measurement is: so no printing here.
void mark(tally& into) {
    at_mark();
    into = here;
}

// A worker that has its hands full until it is released.
class long_step {
public:
    explicit long_step(fl::scheduler& home) {
        task_.set_callback([this](fl::callback_task&) {
            begun_.release();
            released_.acquire();
        });
        home.post(task_);
        begun_.acquire();
    }
    void release() { released_.release(); }

private:
    std::binary_semaphore begun_{0};
    std::binary_semaphore released_{0};
    fl::callback_task task_;
};

}  // namespace

meter::measured& meter::begin(std::string name) {
    return found_.emplace_back(measured{section_, std::move(name), {}});
}

void meter::measure(const char* name, plain_path run) {
    if (!is_asked(name)) return;
    measured& found = begin(name);
    run(2 * size_);
    mark(found.marks[0]);
    run(size_);
    mark(found.marks[1]);
    run(2 * size_);
    mark(found.marks[2]);
}

fl::task<> meter::run_all(std::string name, fl::scheduler& home, task_path run) {
    measured& found = begin(std::move(name));
    co_await run(home, 2 * size_);
    mark(found.marks[0]);
    co_await run(home, size_);
    mark(found.marks[1]);
    co_await run(home, 2 * size_);
    mark(found.marks[2]);
}

void meter::measure(const char* name, fl::scheduler& home, task_path run) {
    if (!is_asked(name)) return;
    // Not by block_on, which looks after each step whether it is done.
    auto whole = fl::spawn(home, run_all(name, home, run));
    while (!whole.ended()) home.run_until(fl::never);
    whole.get();
}

void meter::measure(const char* name, task_path run) {
    fl::scheduler alone{{.run_on_caller = true}};
    measure(name, alone, run);

    const std::string with_another = std::string{name} + ", of two workers";
    if (!is_asked(with_another)) return;
    // No thread looks at them now and then, and takes the slot from the other, which blocks.
    fl::scheduler both{{.workers = 2, .slice = fl::duration{0}, .blocked_after = fl::duration{0}}};
    long_step other{both};
    fl::block_on(both, run_all(with_another, both, run));
    other.release();
    both.drain();
}

void meter::print() const {
#ifdef FAIRLEAD_TAIL_CALLS
    const char* const hand_over = "tail calls";
#else
    const char* const hand_over = "no tail calls";
#endif
#ifdef __OPTIMIZE__
    const char* const optimised = "optimised";
#else
    const char* const optimised = "not optimised";
#endif
#if defined(__clang__)
    std::printf(R"({"build": "clang %d, %s, %s")", __clang_major__, optimised, hand_over);
#else
    std::printf(R"({"build": "GCC %d, %s, %s")", __GNUC__, optimised, hand_over);
#endif
    std::printf(",\n \"operations\": %llu,\n \"paths\": [", static_cast<unsigned long long>(size_));
    const char* separator = "\n";
    for (const measured& each : found_) {
        std::printf("%s  {\"section\": \"%s\", \"name\": \"%s\", \"marks\": [", separator,
                    each.section, each.name.c_str());
        for (const tally& at : each.marks) {
            std::printf("%s[%llu, %llu, %llu, %llu, %llu]", &at == each.marks ? "" : ", ",
                        static_cast<unsigned long long>(at.clock_reads),
                        static_cast<unsigned long long>(at.loads),
                        static_cast<unsigned long long>(at.stores),
                        static_cast<unsigned long long>(at.seq_cst_stores),
                        static_cast<unsigned long long>(at.read_modify_writes));
        }
        std::printf("]}");
        separator = ",\n";
    }
    std::printf("]}\n");
}

}  // namespace bench::counts
