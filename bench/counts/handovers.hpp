// What two threads hand to each other: how many cache lines go from one to the other for it.
//
// The program runs under a tracer of memory accesses (valgrind's lackey), and says by stores to
// known addresses which of the two threads is at work; tools/counts.py follows each line. The
// threads take strict turns, so nothing depends on when they run.
#pragma once

#include <fairlead/detail/sync/signal.hpp>

#include <functional>
#include <thread>

namespace bench::counts {

/// The thread that takes what this one hands over. It lies on the stack of this one, as its signals
/// are no part of what is measured.
class other_thread {
public:
    other_thread();
    ~other_thread();
    other_thread(const other_thread&) = delete;
    other_thread& operator=(const other_thread&) = delete;

    /// Runs `step` there, while this thread waits.
    void run(const std::function<void()>& step);

private:
    const std::function<void()>* step_ = nullptr;  // null: it ends
    fairlead::sync::signal turn_;
    fairlead::sync::signal turn_back_;
    std::thread thread_;
};

/// Prints one JSON object: the addresses, and which paths there are. Then runs each.
void run_handovers();

}  // namespace bench::counts
