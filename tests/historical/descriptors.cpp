// Descriptors: the system uses their numbers again, and an event wakes one thread.
#include "historical/corpus.hpp"
#include "model/bell.hpp"

#include <array>
#include <limits>

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

// 1. A thread that wakes the loop has set the flag and is about to write to the eventfd. 2. The
// loop ends and closes it. 3. A file is opened and gets the number. 4. The write goes to the file.
// The fix: a loop that finds the flag set waits for the write before it closes.
void wakes_a_loop_that_closes(bool fixed) {
    enum : int { closed, eventfd, file };
    cell descriptor{eventfd};
    cell is_woken{0};
    bell written;
    thread waker{[&] {
        if (is_woken.exchange(1, acq_rel) == 1) return;
        require(descriptor.load(seq_cst) != file, "the write is for the eventfd");
        written.ring();
    }};
    if (fixed && is_woken.exchange(1, acq_rel) == 1) written.wait();
    descriptor.store(closed, seq_cst);
    descriptor.store(file, seq_cst);
}

// Two sockets have an event in the same batch. The handler of the first closes the second and
// opens another, which gets its number and then its event.
void handles_an_event_of_a_closed_socket(bool fixed) {
    constexpr std::size_t none = 2;
    std::array<int, 2> socket_of{1, 2};
    const std::array<int, 2> meant{1, 2};
    std::array<std::size_t, 2> batch{0, 1};
    for (std::size_t& event : batch) {
        if (event == none) continue;
        require(socket_of[event] == meant[event], "an event is for the socket that had it");
        socket_of[1] = 3;
        if (fixed && event == 0) batch[1] = none;
    }
}

// An eventfd, edge-triggered, on which several threads wait: each write wakes one of them.
class edge_triggered_event {
public:
    void write() {
        explorer& model = *explorer::running();
        const explorer::outside_scenario outside{model};
        model.visible({step::write, false, this});
        ++edges_;
        model.wake(this, 1);
    }
    void wait() {
        explorer& model = *explorer::running();
        const explorer::outside_scenario outside{model};
        model.visible({step::write, false, this});
        while (edges_ == 0) {
            static_cast<void>(model.block(this, "waits for an event",
                                          std::numeric_limits<std::int64_t>::max(),
                                          {step::write, false, this}));
        }
        --edges_;
    }

private:
    int edges_ = 0;
};

void ends_two_loops_with_one_write(bool fixed) {
    edge_triggered_event event;
    thread one{[&] { event.wait(); }};
    thread two{[&] { event.wait(); }};
    event.write();
    if (fixed) event.write();
}

}  // namespace

std::vector<bug> descriptors() {
    return {
        {"netty_9362", "Netty, issue #9362, PRs #9388 and #9612",
         "A wake-up that is under way writes to the eventfd after the loop has closed it, and its "
         "number is "
         "another file's",
         "while a write is pending, its event is waited for before the close",
         wakes_a_loop_that_closes, "required: the write is for the eventfd"},
        {"re_266", "creytiv/re, PR #266; the same in HPCC #11728 and libfabric #5432",
         "An event of a socket that was closed earlier in the same batch is given to the socket "
         "that has "
         "its number now",
         "a close takes pending events away", handles_an_event_of_a_closed_socket,
         "required: an event is for the socket that had it"},
        {"zig_6399", "Zig, PR #6399",
         "The end of the program is told to several event loops by one write to an edge-triggered "
         "eventfd, "
         "which wakes one",
         "one write for each thread", ends_two_loops_with_one_write, "nobody can go on"},
    };
}

}  // namespace fairlead::model::historical
