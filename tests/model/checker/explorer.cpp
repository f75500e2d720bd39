#include "model/checker/explorer.hpp"

#include "model/checker/heap.hpp"
#include "model/checker/races.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

namespace fairlead::model {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// Whether the order of the two steps can matter.
bool depend(const step& a, const step& b) noexcept {
    if (a.what == step::local || b.what == step::local) return false;
    if (a.what == step::everything || b.what == step::everything) return true;
    if (a.what == step::fence) return b.what == step::fence || b.sequential;
    if (b.what == step::fence) return a.sequential;
    if (a.object != b.object) return false;
    // A sequentially consistent load is seen by the next one.
    return a.what != step::read || b.what != step::read || (a.sequential && b.sequential);
}

std::vector<std::size_t> parse_choices(const std::string& text) {
    std::vector<std::size_t> all;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        std::size_t value = 0;
        const auto [stopped, error] = std::from_chars(at, end, value);
        if (error != std::errc{}) throw std::invalid_argument{"choices are numbers and dots"};
        all.push_back(value);
        at = stopped == end ? end : stopped + 1;
    }
    return all;
}

}  // namespace

explorer* explorer::running_ = nullptr;

// --- the search ----------------------------------------------------------------------------------

explorer::explorer(const options& wanted)
    : options_{wanted},
      watches_orders_{wanted.mutate.has_value() || wanted.sites != nullptr},
      random_state_{wanted.seed * 0x9E3779B97F4A7C15ULL | 1},
      replay_{parse_choices(wanted.replay)},
      bytes_{wanted.bytes},
      longest_{wanted.steps_expected} {
    if (running_ != nullptr) throw std::logic_error{"one exploration at a time"};
    running_ = this;
}

explorer::~explorer() { running_ = nullptr; }

// Whether the limits allow another execution. The clock is read now and then.
bool explorer::may_go_on(std::chrono::steady_clock::time_point end) const {
    if (verdict_.executions == options_.executions_max) return false;
    return options_.time_max.count() == 0 || verdict_.executions % 64 != 0 ||
           std::chrono::steady_clock::now() < end;
}

verdict explorer::run(const std::function<void()>& scenario) {
    scenario_ = &scenario;
    const auto end = std::chrono::steady_clock::now() + options_.time_max;
    const bool once = !replay_.empty() || options_.how == search::bytes;
    bool more = true;
    while (more && may_go_on(end)) {
        execute();
        ++verdict_.executions;
        verdict_.steps += steps_;
        longest_ = std::max(longest_, steps_);
        if (is_cut_) ++verdict_.cut;
        if (failed_) break;
        more = !once && (options_.how != search::exhaustive || next_branch());
    }
    verdict_.complete = !more && !once && !failed_;
    if (!failed_) return verdict_;

    verdict_.passed = false;
    verdict_.choices = choices_made();
    // Once more, with the trace.
    const std::string what = verdict_.what;
    replay_ = parse_choices(verdict_.choices);
    tracing_ = true;
    execute();
    if (!failed_ || verdict_.what != what) {
        verdict_.trace += "(not the same again: the scenario depends on more than the choices)\n";
        verdict_.what = what;
    }
    return verdict_;
}

// One execution, from the beginning to its end.
void explorer::execute() {
    memory_.reset();
    heap::begin_execution();
    races::begin_execution();
    allocations_.clear();
    made_.clear();
    path_position_ = replay_position_ = 0;
    bytes_.restart();
    thread_count_ = current_ = 0;
    preempted_ = steps_ = 0;
    asleep_ = spurious_ = 0;
    now_ = 0;
    failed_ = is_cut_ = false;
    if (options_.how == search::pct) {
        lowest_priority_ = 0;
        priority_changes_.clear();
        for (unsigned i = 1; i < options_.depth; ++i) {
            priority_changes_.push_back(1 + random() % longest_);
        }
    }
    add_thread(nullptr);
    explorer_stack_.switch_to(threads_[0].stack);
    if (!failed_ && !is_cut_) check_allocations();
}

// Goes back to the last choice that has another way.
bool explorer::next_branch() {
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
}

// One of 0 ... count - 1, by the search.
std::size_t explorer::decide(std::size_t count) {
    if (count == 1) return 0;
    if (options_.how == search::bytes) return bytes_.next(count);
    if (options_.how != search::exhaustive) return random() % count;
    if (path_position_ == path_.size()) path_.push_back({static_cast<std::uint16_t>(count), 0});
    const branch& here = path_[path_position_++];
    if (here.count != count) {
        fail("the scenario depends on more than the choices: it had " + std::to_string(here.count) +
             " ways here, and has " + std::to_string(count));
    }
    return here.taken;
}

std::size_t explorer::choose(std::size_t count) {
    const outside_scenario outside{*this};
    if (count == 1) return 0;
    std::size_t chosen = 0;
    if (!replay_.empty()) {
        chosen = replay_position_ < replay_.size() ? replay_[replay_position_++] : 0;
        if (chosen >= count) fail("the choices to replay are of another scenario");
    } else if (leaves_nothing_to_chance() || random() % 2 == 0) {
        chosen = decide(count);  // the first way, which is the usual one, is taken more often
    }
    made_.push_back(static_cast<std::uint16_t>(chosen));
    return chosen;
}

bool explorer::fails_for_no_reason() {
    if (spurious_ == options_.spurious || choose(2) == 0) return false;
    ++spurious_;
    return true;
}

std::string explorer::choices_made() const {
    std::string text;
    for (const std::uint16_t each : made_) {
        if (!text.empty()) text += '.';
        text += std::to_string(each);
    }
    return text;
}

// --- which thread goes on ------------------------------------------------------------------------

void explorer::visible(step next) {
    const outside_scenario outside{*this};
    threads_[current_].next = next;
    if (++steps_ > options_.steps_max) fail("too many steps: a livelock?");
    reschedule(true);
}

// Chooses a thread and goes on with it. Returns when the calling thread is chosen.
void explorer::reschedule(bool may_stay) {
    candidates found;
    std::size_t count = find_candidates(found, may_stay);
    if (count == 0) {
        const bool all_ended =
            std::all_of(threads_.begin(), threads_.begin() + thread_count_,
                        [](const auto& each) { return each.now == status::ended; });
        if (all_ended) leave();
        report_deadlock();
    }
    const bool uses_sleep_set =
        options_.how == search::exhaustive && options_.preemptions == unlimited && replay_.empty();
    if (uses_sleep_set) count = leave_out_sleepers(found, count);
    const std::size_t taken = choose_thread(found, count);
    if (uses_sleep_set) update_sleepers(found, taken);
    made_.push_back(static_cast<std::uint16_t>(found[taken]));
    switch_to(found[taken]);
}

// The threads that could run next. The calling thread comes first, if it may go on. A thread that
// has yielded is a candidate only if no other thread can run.
std::size_t explorer::find_candidates(candidates& found, bool may_stay) {
    std::size_t count = 0;
    const auto is_ready = [&](std::size_t i) {
        return i == current_ ? may_stay : threads_[i].now == status::ready;
    };
    const auto add = [&](auto&& condition) {
        if (condition(current_)) found[count++] = current_;
        for (std::size_t i = 0; i != thread_count_; ++i) {
            if (i != current_ && condition(i)) found[count++] = i;
        }
    };
    add([&](std::size_t i) { return is_ready(i) && !threads_[i].yielded; });
    if (count == 0) add(is_ready);
    const bool time_out_now =
        count == 0 || !replay_.empty() ||
        (options_.early_time_outs && (leaves_nothing_to_chance() || random() % 32 == 0));
    if (time_out_now) {
        // Time passes for all: the earliest comes first.
        std::int64_t earliest = never;
        for (std::size_t i = 0; i != thread_count_; ++i) {
            if (threads_[i].now == status::blocked) {
                earliest = std::min(earliest, threads_[i].deadline);
            }
        }
        add([&](std::size_t i) {
            return threads_[i].now == status::blocked && threads_[i].deadline == earliest &&
                   earliest != never;
        });
    }
    return count;
}

// Threads in the sleep set: what they would do now was explored already, and nothing has happened
// since that it depends on.
std::size_t explorer::leave_out_sleepers(candidates& found, std::size_t count) {
    if (asleep_ == 0) return count;
    std::size_t kept = 0;
    for (std::size_t i = 0; i != count; ++i) {
        if ((asleep_ >> found[i] & 1) == 0) found[kept++] = found[i];
    }
    if (kept == 0) {
        is_cut_ = true;
        leave();
    }
    return kept;
}

// Those that were tried before at this choice fall asleep; those that depend on what is done now
// awake.
void explorer::update_sleepers(const candidates& found, std::size_t taken) {
    for (std::size_t i = 0; i != taken; ++i) asleep_ |= 1U << found[i];
    asleep_ &= ~(1U << found[taken]);
    for (std::size_t i = 0; i != thread_count_; ++i) {
        if ((asleep_ >> i & 1) != 0 && depend(threads_[i].next, threads_[found[taken]].next)) {
            asleep_ &= ~(1U << i);
        }
    }
}

std::size_t explorer::choose_thread(const candidates& found, std::size_t count) {
    if (!replay_.empty()) {
        const std::size_t wanted =
            replay_position_ < replay_.size() ? replay_[replay_position_++] : found[0];
        for (std::size_t i = 0; i != count; ++i) {
            if (found[i] == wanted) return i;
        }
        fail("the choices to replay are of another scenario");
    }
    if (options_.how == search::pct) {
        if (std::ranges::find(priority_changes_, steps_) != priority_changes_.end()) {
            threads_[current_].priority = --lowest_priority_;
        }
        std::size_t highest = 0;
        for (std::size_t i = 1; i != count; ++i) {
            if (threads_[found[i]].priority > threads_[found[highest]].priority) highest = i;
        }
        return highest;
    }
    const bool is_preemption = found[0] == current_ && threads_[current_].now == status::ready &&
                               !threads_[current_].yielded;
    if (is_preemption && preempted_ == options_.preemptions) return 0;
    const std::size_t taken = decide(count);
    if (is_preemption && taken != 0) ++preempted_;
    return taken;
}

void explorer::switch_to(std::size_t thread) {
    for (std::size_t i = 0; i != thread_count_; ++i) {
        if (i != current_) threads_[i].yielded = false;
    }
    thread_state& next = threads_[thread];
    if (thread != current_) next.yielded = false;
    if (next.now == status::blocked) {
        next.timed_out = true;
        next.priority =
            --lowest_priority_;  // a thread that waits for time does not stop other threads
        now_ = std::max(now_, next.deadline);
        next.now = status::ready;
    }
    const std::size_t from = std::exchange(current_, thread);
    if (from != thread) threads_[from].stack.switch_to(next.stack);
}

// Back to the loop of the search; the threads are forgotten where they are.
void explorer::leave() {
    threads_[current_].stack.switch_to(explorer_stack_);
    std::terminate();
}

void explorer::fail(const std::string& what) {
    const outside_scenario outside{*this};
    failed_ = true;
    verdict_.what = what;
    if (tracing_) note("<-- " + what);
    leave();
}

void explorer::report_deadlock() {
    std::string what = "nobody can go on:";
    for (std::size_t i = 0; i != thread_count_; ++i) {
        if (threads_[i].now != status::blocked) continue;
        what += " thread " + std::to_string(i) + " " + threads_[i].reason + ";";
    }
    what.pop_back();
    fail(what);
}

// --- threads -------------------------------------------------------------------------------------

void explorer::enter_thread() {
    explorer& self = *running_;
    self.in_scenario_ = true;
    try {
        if (self.current_ == 0) {
            (*self.scenario_)();
        } else {
            std::move_only_function<void()>* const body = self.threads_[self.current_].body;
            (*body)();
            delete body;
        }
    } catch (const std::exception& thrown) {
        self.fail(std::string{"an exception left a thread: "} + thrown.what());
    }
    self.in_scenario_ = false;
    thread_state& me = self.threads_[self.current_];
    me.now = status::ended;
    if (self.tracing_) self.note("ends");
    self.wake(&me, threads_max);
    self.reschedule(false);
    std::terminate();
}

// `body` is null for the scenario itself.
std::size_t explorer::add_thread(std::move_only_function<void()>* body) {
    if (thread_count_ == threads_max) fail("too many threads");
    const std::size_t index = thread_count_++;
    thread_state& added = threads_[index];
    added.stack.prepare(&explorer::enter_thread, heap::stack_of(index));
    added.body = body;
    added.known.thread = index;
    if (index == 0) {
        added.known.current.clear();
    } else {
        added.known.current = known().current;
        known().tick();
    }
    added.known.current.clock[index] = 1;
    added.known.acquired.clear();
    added.known.released.clear();
    added.now = status::ready;
    added.next = {};
    added.yielded = added.fresh = added.timed_out = false;
    added.deadline = never;
    added.priority = static_cast<std::int64_t>(1000 + random() % 1000);
    added.waits_for = nullptr;
    added.stale_reads.fill(0);
    added.storage.fill(0);
    return index;
}

std::size_t explorer::start_thread(std::move_only_function<void()> body) {
    auto* const kept = new std::move_only_function<void()>{std::move(body)};
    const outside_scenario outside{*this};
    const std::size_t started = add_thread(kept);
    if (tracing_) note("starts thread " + std::to_string(started));
    return started;
}

void explorer::join_thread(std::size_t thread) {
    const outside_scenario outside{*this};
    thread_state& other = threads_[thread];
    while (other.now != status::ended) {
        static_cast<void>(block(&other, "joins another", never, {}));
    }
    known().current.join(other.known.current);
}

bool explorer::block(const void* waits_for, const char* reason, std::int64_t deadline, step next) {
    const outside_scenario outside{*this};
    thread_state& me = threads_[current_];
    me.now = status::blocked;
    me.waits_for = waits_for;
    me.reason = reason;
    me.deadline = deadline;
    me.timed_out = false;
    me.after_wake = next;
    me.next = deadline == never ? next : step{step::everything};  // a time-out
    if (tracing_) note(reason);
    reschedule(false);
    me.deadline = never;
    return !me.timed_out;
}

void explorer::wake(const void* waited_for, std::size_t count) {
    const outside_scenario outside{*this};
    candidates found;
    std::size_t waiting = 0;
    for (std::size_t i = 0; i != thread_count_; ++i) {
        if (threads_[i].now == status::blocked && threads_[i].waits_for == waited_for) {
            found[waiting++] = i;
        }
    }
    for (; waiting != 0 && count != 0; --waiting, --count) {
        const std::size_t chosen = waiting <= count ? 0 : choose(waiting);
        thread_state& woken = threads_[found[chosen]];
        woken.now = status::ready;
        woken.next = woken.after_wake;
        found[chosen] = found[waiting - 1];
    }
}

void explorer::yield() {
    const outside_scenario outside{*this};
    if (++steps_ > options_.steps_max) fail("too many steps: a livelock?");
    thread_state& me = threads_[current_];
    me.yielded = me.fresh = true;
    me.priority = --lowest_priority_;
    me.next = {step::everything};
    reschedule(true);
}

// --- memory --------------------------------------------------------------------------------------

void explorer::end_use(const last_uses& of) {
    const outside_scenario outside{*this};
    for (std::size_t i = 0; i != thread_count_; ++i) {
        if (i != current_ && known().current.clock[i] < of[i]) {
            fail("destroyed while thread " + std::to_string(i) + " may still use it");
        }
    }
}

void explorer::use_location(int& location, std::uint64_t initial) {
    if (location >= 0) return;
    const outside_scenario outside{*this};
    if (memory_.full()) fail("too many atomics");
    location = static_cast<int>(memory_.add(initial));
}

// Which store a load returns: the newest, or an older store that the thread may still read.
std::size_t explorer::choose_store(std::size_t location, std::size_t oldest) {
    thread_state& me = threads_[current_];
    const std::size_t newest = memory_.newest(location);
    std::uint8_t& stale = me.stale_reads[location];
    if (me.fresh || stale >= options_.stale_reads) {
        me.fresh = false;
        stale = 0;
        return newest;
    }
    const std::size_t store = newest - choose(newest - oldest + 1);
    const bool again = store != newest && store == me.known.current[location];
    stale = static_cast<std::uint8_t>(again ? stale + 1 : 0);
    return store;
}

std::uint64_t explorer::load(std::size_t location, order how) {
    const std::size_t store = choose_store(location, memory_.oldest(known(), location, how));
    memory_.read(known(), location, store, how);
    return memory_.value(location, store);
}

void explorer::store(std::size_t location, std::uint64_t value, order how) {
    const outside_scenario outside{*this};
    memory_.write(known(), location, value, how);
}

std::uint64_t explorer::newest(std::size_t location) const {
    return memory_.value(location, memory_.newest(location));
}

std::uint64_t explorer::read_newest(std::size_t location, order how) {
    memory_.read(known(), location, memory_.newest(location), how);
    return newest(location);
}

void explorer::rewrite(std::size_t location, std::uint64_t value, order how) {
    const outside_scenario outside{*this};
    memory_.rewrite(known(), location, value, how);
}

bool explorer::exchange_if(std::size_t location, std::uint64_t& expected, std::uint64_t desired,
                           order success, order failure, bool weak) {
    thread_state& me = threads_[current_];
    const std::size_t last = memory_.newest(location);
    const std::size_t oldest = memory_.oldest(me.known, location, failure);
    std::uint8_t& stale = me.stale_reads[location];
    std::size_t read = last;
    if (newest(location) == expected) {
        // It may fail all the same: by an older store that it reads, or, if it is weak, for
        // nothing.
        std::array<std::size_t, 8> others;
        std::size_t count = 0;
        if (!me.fresh && stale < options_.stale_reads) {
            for (std::size_t i = last; i-- > oldest && count != others.size();) {
                if (memory_.value(location, i) != expected) others[count++] = i;
            }
        }
        const std::size_t way = choose(1 + count);
        if (way == 0 && !(weak && fails_for_no_reason())) {
            stale = 0;
            static_cast<void>(read_newest(location, success));
            rewrite(location, desired, success);
            return true;
        }
        ++stale;
        if (way != 0) read = others[way - 1];
    } else {
        read = choose_store(location, oldest);
        while (memory_.value(location, read) == expected) ++read;
    }
    memory_.read(me.known, location, read, failure);
    expected = memory_.value(location, read);
    return false;
}

void explorer::fence(order how) {
    const outside_scenario outside{*this};
    memory_.fence(known(), how);
}

void explorer::fence_of_all() {
    const outside_scenario outside{*this};
    for (std::size_t i = 0; i != 2 * thread_count_; ++i) {
        memory_.fence(threads_[i % thread_count_].known, order::seq_cst);
    }
}

// --- what it writes down -------------------------------------------------------------------------

void explorer::note(const std::string& line) {
    const outside_scenario outside{*this};
    if (!tracing_) return;
    char position[48];
    std::snprintf(position, sizeof position, "%5llu  thread %zu  ",
                  static_cast<unsigned long long>(steps_), current_);
    verdict_.trace += position + line + '\n';
}

order explorer::look_at_order(order written, access of, const std::source_location& at) {
    const outside_scenario outside{*this};
    const order_site here{at.file_name(), at.line(), at.column(), of, written};
    if (options_.sites != nullptr) options_.sites->try_emplace(here, at.function_name());
    return options_.mutate && options_.mutate->site == here ? options_.mutate->weaker : written;
}

// --- allocations ---------------------------------------------------------------------------------

void explorer::add_allocation(void* memory) {
    const outside_scenario outside{*this};
    allocations_.push_back(memory);
}

void explorer::check_allocations() {
    std::size_t left = 0;
    std::size_t bytes = 0;
    for (const void* each : allocations_) {
        if (!heap::is_freed(each)) {
            ++left;
            bytes += heap::size(each);
        } else if (heap::was_written_after_free(each)) {
            failed_ = true;
            verdict_.what = "freed memory was written";
        }
    }
    if (left != 0) {
        failed_ = true;
        verdict_.what =
            "a leak of " + std::to_string(bytes) + " bytes in " + std::to_string(left) + " blocks";
    }
    if (failed_) note("<-- " + verdict_.what);
}

}  // namespace fairlead::model
