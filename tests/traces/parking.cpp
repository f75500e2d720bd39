// Traces of sleeps and wake-ups, for ParkingTrace: threads 1 and 2 post, threads 3, 4 and 5 are
// workers.
//
// The real `idle`, with small workers around it that follow the protocol of
// sched/worker/worker.cpp. The posts are a count. The role is a flag; its holder may take the
// posts. Chance decides how and for how long a worker sleeps, which further workers are woken, and
// which threads ask for the sleepers.
#include "history.hpp"
#include "recordings.hpp"

#include "sched/sleep/idle.hpp"

#include <fairlead/sched/futex_driver.hpp>

#include <array>

namespace fairlead::traces {
namespace {

constexpr unsigned posters = 2;
constexpr unsigned workers = 3;

// The last searcher does not learn that it is the last.
struct last_searcher_is_not_told : sched::idle {
    using idle::idle;
    bool end_search() {
        static_cast<void>(idle::end_search());
        return false;
    }
};

template <class Idle>
class yard {
public:
    explicit yard(history& calls) : calls_{calls} {}

    void post(unsigned thread) {
        for (unsigned i = 0; i != posts_[thread - 1]; ++i) {
            const auto push = [&] { return posted_.fetch_add(1, sync::acq_rel) == 0; };
            if (calls_.note(thread, "push", 0, push)) {
                calls_.note_done(thread, "announce", 0, [&] { idle_.announce(); });
                ask(thread);  // often: the answers show whether the announcement has woken a worker
                ask(thread);
            }
            ask(thread);
        }
    }

    // Works until all posts were taken.
    void work(unsigned thread) {
        while (!ends()) {
            if (take(thread)) continue;
            calls_.note_done(thread, "begin_search", 0, [&] { idle_.begin_search(); });
            while (!ends() && !take(thread)) sleep(thread);
            // The last searcher looks for posts whose posters relied on it.
            if (calls_.note(thread, "end_search", 0, [&] { return idle_.end_search(); })) {
                wake_another(thread);
            }
            ask(thread);
        }
        calls_.note_done(thread, "wake_all", 0, [&] { idle_.wake_all(); });
    }

private:
    bool ends() const { return taken_.load(sync::acquire) == posts_[0] + posts_[1]; }

    bool try_acquire() { return !role_.exchange(true, sync::acq_rel); }
    void release() { role_.exchange(false, sync::acq_rel); }

    bool take(unsigned thread) {
        const unsigned count = calls_.note(thread, "round", 0, [&] {
            if (!try_acquire()) return 0U;
            const unsigned all = posted_.exchange(0, sync::acq_rel);
            release();
            return all;
        });
        wake_another(thread);
        taken_.fetch_add(count, sync::acq_rel);
        return count != 0;
    }

    // Wakes a worker if there are posts [RL1], and sometimes without need.
    void wake_another(unsigned thread) {
        if (posted_.load(sync::acquire) == 0 && choose(4) != 0) return;
        calls_.note_done(thread, "wake_one", 0, [&] { idle_.wake_one(); });
    }

    void ask(unsigned thread) {
        const auto asks = [&](const char* what, auto question) {
            calls_.note(thread, what, 0, question);
        };
        switch (choose(5)) {
            case 0:
                asks("all_asleep", [&] { return idle_.all_asleep(); });
                break;
            case 1:
                asks("driver_taken", [&] { return idle_.driver_taken(); });
                break;
            case 2:
            case 3:
                asks("seems_asleep", [&] { return idle_.seems_asleep(); });
                break;
            default:
                break;
        }
    }

    void sleep(unsigned thread) {
        if (choose(2) == 0 || !sleep_in_driver(thread)) park(thread);
        ask(thread);
    }

    bool sleep_in_driver(unsigned thread) {
        if (!try_acquire()) return false;
        const bool limited = choose(4) == 0;
        const bool entered = calls_.note(thread, "enter_driver", 0,
                                         [&] { return idle_.enter_driver(thread - posters - 1); });
        if (entered) static_cast<void>(driver_.set_deadline(limited ? soon() : never));
        release();
        wake_another(thread);
        if (!entered) return false;
        if (posted_.load(sync::acquire) == 0 && !ends()) {
            calls_.note_done(thread, "wait", limited, [&] { driver_.wait(); });
        }
        calls_.note_done(thread, "leave_driver", 0, [&] { idle_.leave_driver(); });
        return true;
    }

    void park(unsigned thread) {
        const unsigned index = thread - posters - 1;
        calls_.note_done(thread, "prepare_park", 0, [&] { idle_.prepare_park(index); });
        ask(thread);
        bool stay = !ends();
        // The holder of the role takes the posts. If another thread holds the role, it looks again
        // after its release [RL1].
        if (stay && posted_.load(sync::acquire) != 0 && try_acquire()) {
            release();
            stay = false;
        }
        const auto until_woken = [&] {
            return idle_.park_until(index, choose(4) == 0 ? soon() : never);
        };
        if (stay && calls_.note(thread, "park_until", 0, until_woken)) return;
        calls_.note_done(thread, "cancel_park", 0, [&] { idle_.cancel_park(index); });
    }

    history& calls_;
    const std::array<unsigned, posters> posts_{choose(few), few};
    futex_driver driver_;
    Idle idle_{workers, driver_};
    sync::atomic<unsigned> posted_{0};
    sync::atomic<unsigned> taken_{0};
    sync::atomic<bool> role_{false};
};

template <class Idle>
void record(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "Parking", variant, count, [](history& calls) {
        yard<Idle> all{calls};
        in_threads([&] { all.post(1); }, [&] { all.post(2); }, [&] { all.work(3); },
                   [&] { all.work(4); }, [&] { all.work(5); });
    });
}

}  // namespace

void record_parking(const wanted& traces) {
    record<sched::idle>(traces.folder, "code", traces.count);
    record<last_searcher_is_not_told>(traces.folder, "last-searcher-is-not-told",
                                      traces.planted_count);
}

void record_parking(const std::string& folder, const std::string& bug, unsigned count) {
    record<sched::idle>(folder, bug, count);
}

}  // namespace fairlead::traces
