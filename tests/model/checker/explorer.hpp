// Runs a small concurrent program again and again, with other choices each time, until it has seen
// every execution or one goes wrong.
//
//     scenario --> execution --> execution --> ...            each from the beginning
//                   |
//                   thread 0: the scenario itself     thread 1 ... : what it started
//                   |
//                   at each visible step a choice: which thread goes on, which store a load
//                   returns, whether a time-out comes now
//
// Question it answers: is there an order of steps, or a reading of memory that C++ allows, in which
// this code loses a wake-up, touches freed memory, races, leaks, or breaks what the scenario
// requires?
//
// Threads are fibers on one thread of the machine, so its choices determine an execution. A failure
// prints them, and `options::replay` repeats the failure.
//
// What counts as wrong: a failed `require`; a data race; a touch of something freed or destroyed;
// an execution in which no thread can go on (a lost wake-up, a deadlock); more than `steps_max`
// steps (a livelock); memory that is still allocated when all threads have ended, or freed twice.
//
// Searches
//   exhaustive   depth first over all choices. Sleep sets leave out orders that differ only in
//                steps which do not affect each other. With `preemptions` set, only executions with
//                at most so many of them, and no sleep sets: the two do not go together.
//   random       each choice at random
//   pct          probabilistic concurrency testing: threads have priorities that change at `depth -
//                1` random steps. A bug that needs `depth` ordered steps is found with a known
//                probability.
//   bytes        one execution, by `options::bytes`, for fuzzers: see byte_choices.hpp
//
// Sources: sleep sets (P. Godefroid, 1996); preemption bounding (M. Musuvathi, S. Qadeer, PLDI
// 2007); PCT (S. Burckhardt et al., ASPLOS 2010); races by epochs (C. Flanagan, S. Freund, PLDI
// 2009).
#pragma once

#include "model/checker/byte_choices.hpp"
#include "model/checker/fiber.hpp"
#include "model/checker/memory.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::model {

enum class search : std::uint8_t { exhaustive, random, pct, bytes };

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

enum class access : std::uint8_t { load, store, change, failed_change };

/// A memory order as it stands in the checked program.
struct order_site {
    std::string file;  // the name that the compiler uses
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    access of = access::load;
    order written = order::relaxed;

    auto operator<=>(const order_site&) const = default;
};

/// The memory order that a search makes weaker, to see whether a test notices.
struct mutation {
    order_site site;
    order weaker = order::relaxed;
};

struct options {
    search how = search::exhaustive;
    std::uint64_t preemptions = unlimited;
    std::uint64_t executions_max = unlimited;
    std::chrono::milliseconds time_max{0};  // real time; 0: no limit
    std::uint64_t seed = 1;
    unsigned depth = 3;
    std::uint64_t steps_expected = 50;  // first guess; priorities change within them
    unsigned stale_reads = 2;           // how often in a row a load may return the same old store
    unsigned steps_max = 20'000;
    unsigned spurious = 0;  // how often, in all, a weak exchange or a sleep may fail for no reason
    bool early_time_outs = true;  // a time-out may come at any time, not only when nothing else can
    std::string replay{};         // choices, as a verdict prints them
    std::span<const std::uint8_t> bytes{};  // of a search by bytes
    std::optional<mutation> mutate{};
    // Collects the used memory orders, and the functions that contain them.
    std::map<order_site, std::string>* sites = nullptr;
};

struct verdict {
    bool passed = true;
    bool complete = false;  // every execution within the bounds was seen
    std::string what;       // what went wrong
    std::string choices;    // for options::replay
    std::uint64_t seed = 0;
    std::string trace;  // the failing execution, step by step
    std::uint64_t executions = 0;
    std::uint64_t cut = 0;  // executions that ended early because another shows the same
    std::uint64_t steps = 0;
};

/// Explores `scenario`. Each execution runs it from the beginning, so only the checker's choices
/// may change its behaviour. One exploration at a time.
///
/// From the environment: FAIRLEAD_MODEL_EXECUTIONS, FAIRLEAD_MODEL_SECONDS instead, and
/// FAIRLEAD_MODEL_SEED are for searches by random or priorities that have a limit, to look for
/// longer; with FAIRLEAD_MODEL_COUNT no search runs, and each of these writes a line instead.
/// FAIRLEAD_MODEL_REPLAY, choices that a failure has printed, runs that one execution instead of
/// any search: for a filter that leaves one test. FAIRLEAD_MODEL_SITES names a file to which the
/// memory orders that were used are written at the end of the program, one a line: file, line,
/// column, access, order, and the function; FAIRLEAD_MODEL_MUTATE is the first five of these and
/// the weaker order. See tools/orders.py.
[[nodiscard]] verdict explore(const options& wanted, const std::function<void()>& scenario);

/// The memory that a step touches. It decides whether the order of two steps matters.
struct step {
    enum kind : std::uint8_t { local, read, write, fence, everything };

    kind what = local;
    bool sequential = false;
    const void* object = nullptr;
};

/// The running exploration, on which the checked program's atomics, mutexes and threads are built.
class explorer {
public:
    explicit explorer(const options& wanted);
    explorer(const explorer&) = delete;
    explorer& operator=(const explorer&) = delete;
    ~explorer();

    verdict run(const std::function<void()>& scenario);

    /// The running exploration; null if there is none.
    [[nodiscard]] static explorer* running() noexcept { return running_; }

    // --- from the threads of the scenario --------------------------------------------------------

    /// The calling thread is about to take the step `next`. Another thread may go first.
    void visible(step next);

    /// A choice of 0 ... count - 1.
    [[nodiscard]] std::size_t choose(std::size_t count);

    /// Whether an operation that may fail spuriously fails now.
    [[nodiscard]] bool fails_for_no_reason();

    /// Ends the execution as a failure.
    [[noreturn]] void fail(const std::string& what);

    /// Sleeps until woken, or until `deadline`. False: it timed out. `next` is what it does then.
    [[nodiscard]] bool block(const void* waits_for, const char* reason, std::int64_t deadline,
                             step next);
    /// Wakes at most `count` threads that wait for it, which ones is a choice.
    void wake(const void* waited_for, std::size_t count);

    /// Lets other threads run first. The next load returns the newest store.
    void yield();

    std::size_t start_thread(std::move_only_function<void()> body);
    void join_thread(std::size_t thread);

    [[nodiscard]] std::int64_t now() const noexcept { return now_; }

    /// Advances the time by `nanoseconds`. Deadlines that pass end their waits as time-outs.
    void take_time(std::int64_t nanoseconds) {
        visible({step::write, false, this});
        now_ += nanoseconds;
    }
    [[nodiscard]] std::size_t here() const noexcept { return current_; }
    [[nodiscard]] knowledge& known() noexcept { return threads_[current_].known; }
    [[nodiscard]] const options& wanted() const noexcept { return options_; }

    // --- memory ----------------------------------------------------------------------------------

    /// The epoch of each thread's last use of an object.
    using last_uses = std::array<std::uint16_t, threads_max>;
    void use(last_uses& of) { of[current_] = known().current.clock[current_]; }
    /// The object is destroyed: all its uses must have happened before.
    void end_use(const last_uses& of);

    /// `location`: of an atomic, negative before its first use.
    void use_location(int& location, std::uint64_t initial);
    [[nodiscard]] std::uint64_t load(std::size_t location, order how);
    void store(std::size_t location, std::uint64_t value, order how);
    /// The newest value, for a read-modify-write. `finish_change` may follow.
    [[nodiscard]] std::uint64_t newest(std::size_t location) const;
    std::uint64_t read_newest(std::size_t location, order how);
    void rewrite(std::size_t location, std::uint64_t value, order how);
    /// For a compare-exchange that expects `expected`: true if it succeeds, else what it read.
    [[nodiscard]] bool exchange_if(std::size_t location, std::uint64_t& expected,
                                   std::uint64_t desired, order success, order failure, bool weak);
    void fence(order how);
    /// Each thread passes a sequentially consistent fence now, twice: the first threads see what
    /// the last ones have written.
    void fence_of_all();

    // --- what it writes down ---------------------------------------------------------------------

    [[nodiscard]] bool tracing() const noexcept { return tracing_; }
    void note(const std::string& line);

    /// The memory order of this access, after a mutation.
    [[nodiscard]] order effective(order written, access of, const std::source_location& at) {
        return watches_orders_ ? look_at_order(written, of, at) : written;
    }

    /// Whether the code of the scenario runs: the checker tracks its allocations and accesses.
    [[nodiscard]] static bool in_scenario() noexcept {
        return running_ != nullptr && running_->in_scenario_;
    }
    void add_allocation(void* block);
    /// While the object exists, the checker does not track the calling thread's allocations and
    /// accesses.
    class outside_scenario {
    public:
        explicit outside_scenario(explorer& of) noexcept
            : of_{of}, before_{std::exchange(of.in_scenario_, false)} {
            keep_order();
        }
        outside_scenario(const outside_scenario&) = delete;
        outside_scenario& operator=(const outside_scenario&) = delete;
        ~outside_scenario() {
            keep_order();
            of_.in_scenario_ = before_;
        }

    private:
        // The compiler reorders accesses before it instruments them.
        static void keep_order() noexcept { asm volatile("" ::: "memory"); }

        explorer& of_;
        const bool before_;
    };

    /// A word of the calling thread: thread-local memory of the checked program.
    [[nodiscard]] std::uint64_t& thread_storage(std::size_t which) {
        return threads_[current_].storage[which];
    }
    /// Reserves another such word, for the whole run of the program.
    [[nodiscard]] static std::size_t new_thread_storage() noexcept {
        static std::size_t used = 0;
        return used++;
    }
    static constexpr std::size_t storage_max = 4;

private:
    enum class status : std::uint8_t { ready, blocked, ended };

    struct thread_state {
        fiber stack;
        std::move_only_function<void()>* body =
            nullptr;  // of the scenario: forgotten, not destroyed
        knowledge known;
        status now = status::ended;
        step next;
        step after_wake;
        bool yielded = false;
        bool fresh = false;  // its next read is of the newest store
        bool timed_out = false;
        std::int64_t deadline = 0;
        std::int64_t priority = 0;
        const void* waits_for = nullptr;
        const char* reason = "";
        std::array<std::uint8_t, locations_max> stale_reads{};
        std::array<std::uint64_t, storage_max> storage{};
    };

    // A choice of the depth-first search.
    struct branch {
        std::uint16_t count;
        std::uint16_t taken;
    };

    using candidates = std::array<std::size_t, threads_max>;

    static void enter_thread();
    [[nodiscard]] bool may_go_on(std::chrono::steady_clock::time_point end) const;
    void execute();
    std::size_t add_thread(std::move_only_function<void()>* body);
    [[nodiscard]] bool next_branch();
    void reschedule(bool may_stay);
    [[nodiscard]] std::size_t find_candidates(candidates& found, bool may_stay);
    [[nodiscard]] std::size_t leave_out_sleepers(candidates& found, std::size_t count);
    [[nodiscard]] std::size_t choose_thread(const candidates& found, std::size_t count);
    [[nodiscard]] std::size_t decide(std::size_t count);
    // Whether the search offers each choice, instead of deciding some by chance.
    [[nodiscard]] bool leaves_nothing_to_chance() const noexcept {
        return options_.how == search::exhaustive || options_.how == search::bytes;
    }
    void update_sleepers(const candidates& found, std::size_t taken);
    void switch_to(std::size_t thread);
    [[noreturn]] void leave();
    [[noreturn]] void report_deadlock();
    [[nodiscard]] std::size_t choose_store(std::size_t location, std::size_t oldest);
    [[nodiscard]] order look_at_order(order written, access of, const std::source_location& at);
    void check_allocations();
    [[nodiscard]] std::string choices_made() const;
    [[nodiscard]] std::uint64_t random() noexcept {
        random_state_ ^= random_state_ << 13;
        random_state_ ^= random_state_ >> 7;
        random_state_ ^= random_state_ << 17;
        return random_state_;
    }

    static explorer* running_;

    options options_;
    const std::function<void()>* scenario_ = nullptr;
    bool tracing_ = false;
    bool watches_orders_ = false;
    verdict verdict_;

    // Of the search.
    std::vector<branch> path_;
    std::uint64_t random_state_;
    std::vector<std::size_t> replay_;
    byte_choices bytes_;
    std::uint64_t longest_;  // steps of an execution, for PCT

    // Of the execution.
    std::size_t path_position_ = 0;
    std::size_t replay_position_ = 0;
    std::vector<std::uint16_t> made_;  // threads and values chosen
    memory memory_;
    std::array<thread_state, threads_max> threads_;
    std::size_t thread_count_ = 0;
    std::size_t current_ = 0;
    std::uint64_t preempted_ = 0;
    unsigned spurious_ = 0;
    std::uint64_t steps_ = 0;
    std::uint32_t asleep_ = 0;  // the sleep set
    std::vector<std::uint64_t> priority_changes_;
    std::int64_t lowest_priority_ = 0;
    std::int64_t now_ = 0;
    bool failed_ = false;
    bool is_cut_ = false;
    bool in_scenario_ = false;
    fiber explorer_stack_;
    std::vector<void*> allocations_;
};

/// The requirement of a scenario. A string literal says what it is.
inline void require(bool holds, const char* what) {
    if (!holds) explorer::running()->fail(std::string{"required: "} + what);
}

}  // namespace fairlead::model
