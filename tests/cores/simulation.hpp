// Runs the threads of a program on simulated processors, one thread on each, with costs.
//
//     thread --> atomic.hpp, accesses.cpp --> simulation --> lines: when can it go on?
//                system.cpp                       |
//                                                 the thread with the least time goes on
//
// Question it answers: how would this program run on a machine that is not here?
//
// Each thread is a fiber with a time of its own, in ns. Before each access to an atomic, and before
// each access that has to fetch a line, the thread with the least time goes on. So accesses happen
// in the order of time, and a run depends on nothing but the program, the costs and the seed.
//
// One simulation in a run of the program.
#pragma once

#include "cores/lines.hpp"
#include "model/checker/fiber.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace fairlead::cores {

// What a thread has done with its time, in ns.
struct uses {
    double stepping = 0;   // work that the program has declared
    double sleeping = 0;   // in the kernel, until it ran again
    double searching = 0;  // from the begin of a search to its end, but for the sleep
    std::uint64_t sleeps = 0;
};

class simulation {
public:
    simulation(const costs& of, std::size_t workers) : costs_{of}, lines_{of}, beside_{workers} {}
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;

    // The running simulation, or null.
    [[nodiscard]] static simulation* running() noexcept { return running_; }

    // Runs `body` on a thread, until that thread ends.
    void run(std::move_only_function<void()> body);

    // --- from the threads ------------------------------------------------------------------------

    void touch(const void* at, access what);
    void touch_plainly(const void* at, access what);

    // The thread does something for so long.
    void spend(double ns) { here().now += ns; }
    // The same, as a step of a task.
    void step(double ns);
    // Another thread with less time goes first.
    void go_in_order();

    [[nodiscard]] double now() { return here().now; }
    [[nodiscard]] std::size_t index() const noexcept { return current_; }

    static constexpr double no_limit = std::numeric_limits<double>::infinity();
    // Sleeps until woken, or until `limit`.
    void sleep(const void* waits_for, double limit);
    // Wakes at most `count` threads. Returns how many.
    std::size_t wake(const void* waited_for, std::size_t count);

    // `beside`: not on the processors of the workers.
    std::size_t start_thread(std::move_only_function<void()> body, bool beside);
    void join_thread(std::size_t thread);

    void begin_search() { here().search_since = here().now - here().spent.sleeping; }
    void end_search();

    [[nodiscard]] std::uint64_t& storage(std::size_t which) { return here().storage[which]; }
    [[nodiscard]] static std::size_t new_storage() noexcept {
        static std::size_t used = 0;
        return used++;
    }

    // --- what it has measured --------------------------------------------------------------------

    [[nodiscard]] const costs& of() const noexcept { return costs_; }
    [[nodiscard]] cores::lines& lines() noexcept { return lines_; }
    void forget_counts();
    [[nodiscard]] traffic traffic_of_all() const;
    [[nodiscard]] uses uses_of_workers() const;
    [[nodiscard]] std::uint64_t switches() const noexcept { return switches_; }

private:
    static constexpr std::size_t storage_max = 8;
    static constexpr double not_searching = -1;

    struct thread_state {
        model::fiber stack;
        std::move_only_function<void()> body;
        std::size_t processor = 0;
        bool beside = false;
        double now = 0;
        bool ended = false;
        bool asleep = false;
        const void* waits_for = nullptr;
        std::uint64_t sleep = 0;  // the number of the sleep, so that its limit ends no other
        double asleep_since = 0;
        double search_since = not_searching;
        uses spent;
        std::array<std::uint64_t, storage_max> storage{};
    };
    struct turn {
        double at;
        std::size_t thread;
        std::uint64_t sleep;  // the limit of this sleep; 0: the thread goes on

        [[nodiscard]] bool before(const turn& other) const noexcept {
            return at < other.at || (at == other.at && thread < other.thread);
        }
    };

    [[nodiscard]] thread_state& here() { return *threads_[current_]; }
    static void enter_thread();
    void make(const void* at, access what);
    void push(const turn& next);
    [[nodiscard]] turn pop();
    void go_on();
    void switch_to(std::size_t thread);
    void end_sleep(thread_state& of, double at);

    static simulation* running_;

    const costs costs_;
    cores::lines lines_;
    std::size_t beside_;  // the next processor behind those of the workers
    std::vector<std::unique_ptr<thread_state>> threads_;
    std::size_t current_ = 0;
    std::size_t worker_ = 0;   // the next processor of a worker
    std::vector<turn> turns_;  // a heap
    std::unordered_map<const void*, std::deque<std::size_t>> sleepers_;
    std::uint64_t sleeps_ = 0;
    std::uint64_t switches_ = 0;
    model::fiber outside_;
};

}  // namespace fairlead::cores
