// Traces of the signal, for SignalTrace: thread 1 receives, threads 2 and 3 send.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/detail/sync/signal.hpp>

#include <utility>

namespace fairlead::traces {
namespace {

// The number of all sends; each sender of the specification sends once.
constexpr unsigned sends = 2 * few;

// Takes a time-out for a send.
struct time_out_counts_as_a_send : sync::signal {
    bool receive_until(time_point deadline) {
        static_cast<void>(signal::receive_until(deadline));
        return true;
    }
};

// Each send is received twice.
struct received_twice : sync::signal {
    bool receive_until(time_point deadline) {
        if (std::exchange(again_, false)) return true;
        again_ = signal::receive_until(deadline);
        return again_;
    }

    bool again_ = false;
};

template <class Signal>
void record(const wanted& traces, const std::string& variant, unsigned count) {
    record_traces(traces.folder, "Signal", variant, count, [](history& calls) {
        Signal told;
        sync::atomic<unsigned> arrived{0};
        const auto send = [&](unsigned thread, unsigned first) {
            sync::signal pause;
            for (unsigned sender = first; sender != first + sends / 2; ++sender) {
                if (choose(2) == 0) static_cast<void>(pause.receive_until(later()));
                calls.note_done(thread, "write", sender,
                                [&] { arrived.fetch_add(1, sync::acq_rel); });
                calls.note_done(thread, "send", sender, [&] { told.send(); });
            }
        };
        const auto receive = [&] {
            bool any = false;
            while (!calls.note(1, "look", 0,
                               [&] { return arrived.load(sync::acquire) == sends && any; })) {
                const auto until_soon = [&] {
                    return told.receive_until(choose(4) == 3 ? never : soon());
                };
                while (!calls.note(1, "receive", 0, until_soon)) {
                }
                any = true;
            }
        };
        in_threads(
            receive, [&] { send(2, 1); }, [&] { send(3, 1 + sends / 2); });
    });
}

}  // namespace

void record_signal(const wanted& traces) {
    record<sync::signal>(traces, "code", traces.count);
    record<time_out_counts_as_a_send>(traces, "time-out-counts-as-a-send", traces.planted_count);
    record<received_twice>(traces, "received-twice", traces.planted_count);
}

}  // namespace fairlead::traces
