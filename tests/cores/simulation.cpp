#include "cores/simulation.hpp"

#include "cores/heap.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace fairlead::cores {
namespace {

// The code of the simulation is no part of the program: what it allocates is not simulated.
class outside_program {
public:
    outside_program() noexcept : before_{heap::is_active()} { heap::set_active(false); }
    outside_program(const outside_program&) = delete;
    outside_program& operator=(const outside_program&) = delete;
    ~outside_program() { heap::set_active(before_); }

private:
    const bool before_;
};

}  // namespace

simulation* simulation::running_ = nullptr;

// --- the order of time ---------------------------------------------------------------------------

void simulation::push(const turn& next) {
    turns_.push_back(next);
    std::ranges::push_heap(turns_, [](const turn& a, const turn& b) { return b.before(a); });
}

simulation::turn simulation::pop() {
    std::ranges::pop_heap(turns_, [](const turn& a, const turn& b) { return b.before(a); });
    const turn first = turns_.back();
    turns_.pop_back();
    return first;
}

void simulation::go_in_order() {
    const turn own{here().now, current_, 0};
    if (turns_.empty() || own.before(turns_.front())) return;
    const outside_program outside;
    push(own);
    go_on();
}

// The calling thread stands in `turns_`, or sleeps, or has ended.
void simulation::go_on() {
    for (;;) {
        if (turns_.empty()) {
            std::fputs("all threads of the simulation sleep\n", stderr);
            std::abort();
        }
        const turn next = pop();
        thread_state& of = *threads_[next.thread];
        if (next.sleep != 0) {  // a limit
            if (!of.asleep || of.sleep != next.sleep) continue;
            std::erase(sleepers_[of.waits_for], next.thread);
            end_sleep(of, next.at);
            continue;
        }
        if (next.thread != current_) switch_to(next.thread);
        return;
    }
}

void simulation::switch_to(std::size_t thread) {
    ++switches_;
    thread_state& from = here();
    current_ = thread;
    const bool active = heap::is_active();
    from.stack.switch_to(here().stack);
    heap::set_active(active);
}

// --- accesses ------------------------------------------------------------------------------------

void simulation::touch(const void* at, access what) {
    go_in_order();
    make(at, what);
}

// What the thread has at hand disturbs no other thread, so it need not wait for its turn.
void simulation::touch_plainly(const void* at, access what) {
    if (heap::has_lines(at) && !lines_.is_hit(here().processor, at, what)) go_in_order();
    make(at, what);
}

void simulation::make(const void* at, access what) {
    thread_state& self = here();
    if (!heap::has_lines(at)) {
        self.now += costs_.access;
        return;
    }
    const cores::lines::plan how = lines_.begin(self.processor, at, what, self.now);
    if (how.leaves > self.now) {
        self.now = how.leaves;
        go_in_order();
    }
    lines_.move(self.processor, at, what);
    self.now = how.end;
}

void simulation::step(double ns) {
    here().now += ns;
    here().spent.stepping += ns;
}

void simulation::end_search() {
    thread_state& self = here();
    if (self.search_since == not_searching) return;
    self.spent.searching += self.now - self.spent.sleeping - self.search_since;
    self.search_since = not_searching;
}

// --- threads -------------------------------------------------------------------------------------

void simulation::run(std::move_only_function<void()> body) {
    running_ = this;
    threads_.reserve(processors_max);
    bool is_over = false;
    std::move_only_function<void()> first = [&] {
        body();
        is_over = true;
    };
    start_thread(std::move(first), true);
    turns_.clear();
    outside_.switch_to(threads_[0]->stack);
    running_ = nullptr;
    heap::set_active(false);
    if (!is_over) std::abort();
}

void simulation::enter_thread() {
    simulation& all = *running_;
    heap::set_active(true);
    all.here().body();
    heap::set_active(false);
    thread_state& self = all.here();
    self.ended = true;
    if (all.current_ == 0) {
        model::fiber& outside = all.outside_;
        self.stack.switch_to(outside);
    }
    all.wake(&self, processors_max);
    all.go_on();
    std::abort();  // nothing wakes it
}

// Workers stand side by side on the first processors, other threads behind them.
std::size_t simulation::start_thread(std::move_only_function<void()> body, bool beside) {
    const outside_program outside;
    const std::size_t index = threads_.size();
    auto made = std::make_unique<thread_state>();
    made->body = std::move(body);
    made->beside = beside;
    made->processor = beside ? beside_++ : worker_++;
    made->now = threads_.empty() ? 0 : here().now + costs_.woken;
    made->stack.prepare(enter_thread, heap::stack_of(index));
    threads_.push_back(std::move(made));
    push({threads_.back()->now, index, 0});
    return index;
}

void simulation::join_thread(std::size_t thread) {
    while (!threads_[thread]->ended) sleep(threads_[thread].get(), no_limit);
}

void simulation::sleep(const void* waits_for, double limit) {
    const outside_program outside;
    thread_state& self = here();
    self.asleep = true;
    self.asleep_since = self.now;
    self.waits_for = waits_for;
    self.sleep = ++sleeps_;
    ++self.spent.sleeps;
    sleepers_[waits_for].push_back(current_);
    if (limit != no_limit) push({std::max(limit, self.now), current_, self.sleep});
    go_on();
}

std::size_t simulation::wake(const void* waited_for, std::size_t count) {
    const outside_program outside;
    const auto found = sleepers_.find(waited_for);
    if (found == sleepers_.end()) return 0;
    std::size_t woken = 0;
    for (; woken != count && !found->second.empty(); ++woken) {
        thread_state& first = *threads_[found->second.front()];
        found->second.pop_front();
        end_sleep(first, here().now);
    }
    if (found->second.empty()) sleepers_.erase(found);
    return woken;
}

void simulation::end_sleep(thread_state& of, double at) {
    of.asleep = false;
    of.now = std::max(of.now, at) + costs_.woken;
    of.spent.sleeping += of.now - of.asleep_since;
    const auto index = static_cast<std::size_t>(
        std::ranges::find_if(threads_, [&of](const auto& each) { return each.get() == &of; }) -
        threads_.begin());
    push({of.now, index, 0});
}

// --- what it has measured ------------------------------------------------------------------------

void simulation::forget_counts() {
    lines_.forget_counts();
    for (const auto& each : threads_) {
        each->spent = {};
        each->asleep_since = std::max(each->asleep_since, here().now);
        if (each->search_since != not_searching) {
            each->search_since = each->asleep ? each->asleep_since : each->now;
        }
    }
}

traffic simulation::traffic_of_all() const {
    traffic all;
    for (std::size_t i = 0; i != processors_max; ++i) {
        const traffic& each = lines_.of(i);
        all.accesses += each.accesses;
        all.changes += each.changes;
        all.near += each.near;
        all.far += each.far;
        all.remote += each.remote;
    }
    return all;
}

uses simulation::uses_of_workers() const {
    uses all;
    const double now = threads_[current_]->now;
    for (const auto& each : threads_) {
        if (each->beside) continue;
        all.stepping += each->spent.stepping;
        all.sleeping += each->spent.sleeping + (each->asleep ? now - each->asleep_since : 0);
        all.searching += each->spent.searching;
        if (each->search_since != not_searching) {
            const double until = each->asleep ? each->asleep_since : each->now;
            all.searching += until - each->spent.sleeping - each->search_since;
        }
        all.sleeps += each->spent.sleeps;
    }
    return all;
}

}  // namespace fairlead::cores
