// Tests of the checker: protocols for which other tools have decided whether they hold under the
// C++ memory model. Each verdict here is that of GenMC with RC11, unless a test names another tool.
// The last part has the verdicts of the authors of the algorithms.
#include "model/bell.hpp"
#include "model/explore.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace fairlead::model::oracle_tests {
namespace {

using cell = sync::atomic<int>;

using namespace sync;  // the memory orders

const options one_stale_read{.stale_reads = 1};

// --- a push and a look for a sleeper, against a sleep and a look at the queue --------------------

struct wake_protocol {
    const char* name;
    bool is_safe;
    // The producer pushes with a read-modify-write, and looks at the flag, with a load or an
    // addition of nothing.
    order push;
    bool fence_after_push;
    bool look_is_change;
    order look;
    // The sleeper sets the flag, with a store or an exchange, and looks at the queue.
    bool set_is_exchange;
    order set;
    bool fence_after_set;
    order recheck;
};

constexpr std::array wake_protocols{
    wake_protocol{"no fence", false, acq_rel, false, false, relaxed, false, relaxed, false,
                  relaxed},
    wake_protocol{"a sequential load after an acq_rel push (tokio #1788)", false, acq_rel, false,
                  false, seq_cst, false, seq_cst, false, seq_cst},
    wake_protocol{"a relaxed look after a sequential push", false, seq_cst, false, false, relaxed,
                  false, seq_cst, false, seq_cst},
    wake_protocol{"all four sequential", true, seq_cst, false, false, seq_cst, false, seq_cst,
                  false, seq_cst},
    wake_protocol{"fences on both sides", true, release, true, false, relaxed, false, relaxed, true,
                  relaxed},
    wake_protocol{"a fence on one side, a sequential load on the other", false, release, true,
                  false, relaxed, false, relaxed, false, seq_cst},
    wake_protocol{"a fence on one side, all sequential on the other", true, release, true, false,
                  relaxed, false, seq_cst, false, seq_cst},
    wake_protocol{"changes on both sides, acq_rel", true, release, false, true, acq_rel, true,
                  acq_rel, false, relaxed},
    wake_protocol{"changes on both sides, release and acquire", true, release, false, true, release,
                  true, acquire, false, relaxed},
    wake_protocol{"a change on one side, sequential accesses on the other", false, release, false,
                  true, release, false, seq_cst, false, seq_cst},
};

void sleep_and_wake(const wake_protocol& how) {
    cell queue{0};
    cell sleeping{0};
    bell woken;
    thread producer{[&] {
        queue.fetch_or(1, how.push);
        if (how.fence_after_push) fence(seq_cst);
        const int asleep =
            how.look_is_change ? sleeping.fetch_or(0, how.look) : sleeping.load(how.look);
        if (asleep != 0) woken.ring();
    }};
    if (how.set_is_exchange) {
        sleeping.exchange(1, how.set);
    } else {
        sleeping.store(1, how.set);
    }
    if (how.fence_after_set) fence(seq_cst);
    if (queue.load(how.recheck) == 0) woken.wait();
}

TEST(Oracle, SleepersAndTheirWakers) {
    for (const auto& each : wake_protocols) {
        SCOPED_TRACE(each.name);
        if (each.is_safe) {
            expect_passes(one_stale_read, [&] { sleep_and_wake(each); });
        } else {
            expect_fails(one_stale_read, "nobody can go on", [&] { sleep_and_wake(each); });
        }
    }
}

// --- a stack: pushes, and all are taken at once --------------------------------------------------

// Treiber's push, and an exchange that takes all nodes. It needs no reclamation, because no push
// reads the head node. By the standard both must synchronise: nothing else orders the write of the
// payload and its read.
class stack {
public:
    struct node {
        plain<int> payload{0};
        node* next = nullptr;
    };

    stack(order push, order take) : push_{push}, take_{take} {}

    void push(node& pushed) {
        node* head = head_.load(relaxed);
        do {
            pushed.next = head;
        } while (!head_.compare_exchange_weak(head, &pushed, push_, relaxed));
    }
    node* take_all() { return head_.exchange(nullptr, take_); }

private:
    const order push_;
    const order take_;
    sync::atomic<node*> head_{nullptr};
};

void push_and_take_all(order push, order take) {
    stack all{push, take};
    stack::node nodes[2];
    int taken = 0;
    const auto take_some = [&] {
        for (stack::node* each = all.take_all(); each != nullptr; each = each->next) {
            require(each->payload == 1, "it is as it was pushed, and taken once");
            each->payload = 2;
            ++taken;
        }
    };
    {
        const auto produce = [&](stack::node& own) {
            own.payload = 1;
            all.push(own);
        };
        thread first{[&] { produce(nodes[0]); }};
        thread second{[&] { produce(nodes[1]); }};
        take_some();
    }
    take_some();
    require(taken == 2, "each is taken");
}

TEST(Oracle, APushPublishesItsPayload) {
    expect_passes(one_stale_read, [] { push_and_take_all(release, acquire); });
    expect_fails(one_stale_read, "data race", [] { push_and_take_all(relaxed, acquire); });
    expect_fails(one_stale_read, "data race", [] { push_and_take_all(release, relaxed); });
}

// --- a signal whose send returns early when it is set already ------------------------------------

enum class early_return { relaxed_load, fence_before, release_change };

class eager_signal {
public:
    explicit eager_signal(early_return how) : how_{how} {}

    void send() {
        if (how_ == early_return::fence_before) fence(seq_cst);
        int seen = how_ == early_return::release_change ? word_.load(relaxed) : 0;
        if (how_ == early_return::release_change) {
            while (!word_.compare_exchange_weak(seen, 1, release, relaxed)) {
            }
            if (seen == 1) return;
        } else if (!word_.compare_exchange_strong(seen, 1, release, relaxed)) {
            return;
        }
        sent_.ring();
    }
    void receive() {
        while (!try_receive()) sent_.wait();
    }

private:
    bool try_receive() {
        int expected = 1;
        return word_.compare_exchange_strong(expected, 0, acquire, relaxed);
    }

    const early_return how_;
    cell word_{0};
    bell sent_;
};

void stop_and_signal(early_return how) {
    eager_signal signal{how};
    cell stop{0};
    thread worker{[&] {
        signal.send();  // to this thread, which has just left the role
        while (stop.load(acquire) == 0) signal.receive();
    }};
    stop.store(1, release);
    signal.send();
}

TEST(Oracle, AStopBeforeAnEarlyReturnIsLost) {
    expect_fails(one_stale_read, "nobody can go on",
                 [] { stop_and_signal(early_return::relaxed_load); });
    // A fence on one side does not help.
    expect_fails(one_stale_read, "nobody can go on",
                 [] { stop_and_signal(early_return::fence_before); });
    expect_passes(one_stale_read, [] { stop_and_signal(early_return::release_change); });
}

enum class was_empty { by_the_exchange, by_the_first_load };

// A push that finds the queue empty sends a signal. Any other push relies on the signal of an
// earlier push.
void push_and_signal(order push, order take, early_return how,
                     was_empty answer = was_empty::by_the_exchange) {
    eager_signal signal{how};
    cell queue{0};
    thread producer{[&] {
        for (int i = 0; i != 2; ++i) {
            int before = queue.load(relaxed);
            const int first = before;
            while (!queue.compare_exchange_weak(before, before + 1, push, relaxed)) {
            }
            if ((answer == was_empty::by_the_exchange ? before : first) == 0) signal.send();
        }
    }};
    for (int taken = 0; taken != 2;) {
        const int more = queue.exchange(0, take);
        taken += more;
        if (more == 0) signal.receive();
    }
}

TEST(Oracle, SignalsOnlyOfPushesThatFindTheQueueEmpty) {
    const auto early = early_return::relaxed_load;
    const std::string lost = "nobody can go on";
    expect_fails(one_stale_read, lost, [=] { push_and_signal(release, acquire, early); });
    expect_fails(one_stale_read, lost, [=] { push_and_signal(acq_rel, acquire, early); });
    expect_fails(one_stale_read, lost, [=] { push_and_signal(release, acq_rel, early); });
    expect_passes(one_stale_read, [=] { push_and_signal(acq_rel, acq_rel, early); });
    expect_passes(one_stale_read,
                  [] { push_and_signal(release, acquire, early_return::release_change); });
}

// The first load is of a queue that may have been emptied by the time the exchange succeeds. Found
// by traces of a prototype that were checked against a specification.
TEST(Oracle, TheFirstLoadDoesNotKnowWhetherTheQueueWasEmpty) {
    expect_fails(one_stale_read, "nobody can go on", [] {
        push_and_signal(acq_rel, acq_rel, early_return::release_change,
                        was_empty::by_the_first_load);
    });
    expect_passes(one_stale_read,
                  [] { push_and_signal(acq_rel, acq_rel, early_return::release_change); });
}

// --- a ring with one producer, whose consumers read a slot and then claim it ---------------------

// A ring of one slot. A consumer that loses the claim has read an item that the producer may write
// at the same time. It discards the item.
template <class Slot>
class ring {
public:
    void push_if_room(int item) {
        const int end = end_.load(relaxed);
        if (end != begin_.load(acquire)) return;
        set(slot_, item);
        end_.store(end + 1, release);
    }
    int claim() {
        int begin = begin_.load(acquire);
        if (begin == end_.load(acquire)) return nothing;
        const int item = get(slot_);
        return begin_.compare_exchange_strong(begin, begin + 1, release, relaxed) ? item : nothing;
    }

    static constexpr int nothing = -1;

private:
    static void set(cell& slot, int item) { slot.store(item, relaxed); }
    static int get(const cell& slot) { return slot.load(relaxed); }
    static void set(plain<int>& slot, int item) { slot = item; }
    static int get(const plain<int>& slot) { return slot; }

    cell begin_{0};
    cell end_{0};
    Slot slot_{0};
};

template <class Slot>
void push_and_claim() {
    const auto shared = std::make_unique<ring<Slot>>();  // not local: see races.hpp
    plain<int> payload[2];
    const auto claim = [&] {
        const int item = shared->claim();
        if (item == shared->nothing) return;
        plain<int>& own = payload[static_cast<std::size_t>(item)];
        require(own == 1, "it is taken once");
        own = 2;
    };
    thread first{claim};
    thread second{claim};
    for (int i = 0; i != 2; ++i) {
        payload[i] = 1;
        shared->push_if_room(i);
    }
}

// The verdict of Miri about slots that are read like the data of a sequence lock.
TEST(Oracle, ASlotThatIsReadBeforeItsClaimMustBeAtomic) {
    expect_passes(one_stale_read, push_and_claim<cell>);
    expect_fails(one_stale_read, "data race", push_and_claim<plain<int>>);
}

// --- Chase-Lev's deque, with the orders of Le et al., PPoPP 2013 ---------------------------------

class deque {
public:
    enum fences : unsigned { none = 0, of_push = 1, of_take = 2, of_steal = 4, all = 7 };

    explicit deque(unsigned kept) : kept_{kept} {}

    void push(int item) {
        const int bottom = bottom_.load(relaxed);
        static_cast<void>(top_.load(acquire));
        items_[index(bottom)].store(item, relaxed);
        if ((kept_ & of_push) != 0) fence(release);
        bottom_.store(bottom + 1, relaxed);
    }
    int take() {
        const int bottom = bottom_.load(relaxed) - 1;
        bottom_.store(bottom, relaxed);
        if ((kept_ & of_take) != 0) fence(seq_cst);
        int top = top_.load(relaxed);
        int item = nothing;
        if (top <= bottom) item = items_[index(bottom)].load(relaxed);
        if (top == bottom && !top_.compare_exchange_strong(top, top + 1, seq_cst, relaxed)) {
            item = nothing;
        }
        if (top >= bottom) bottom_.store(bottom + 1, relaxed);
        return item;
    }
    int steal() {
        int top = top_.load(acquire);
        if ((kept_ & of_steal) != 0) fence(seq_cst);
        if (top >= bottom_.load(acquire)) return nothing;
        const int item = items_[index(top)].load(relaxed);
        return top_.compare_exchange_strong(top, top + 1, seq_cst, relaxed) ? item : nothing;
    }

    static constexpr int nothing = -1;

private:
    static std::size_t index(int position) { return static_cast<std::size_t>(position) & 3; }

    const unsigned kept_;
    cell top_{0};
    cell bottom_{0};
    cell items_[4];
};

void share_two_items(unsigned fences) {
    deque deque{fences};
    plain<int> payload[2];
    int taken[2] = {};
    const auto use = [&](int item) {
        if (item == deque::nothing) return;
        const auto index = static_cast<std::size_t>(item);
        ++taken[index];
        payload[index] = 2;
    };
    {
        thread thief{[&] {
            use(deque.steal());
            use(deque.steal());
        }};
        for (int i = 0; i != 2; ++i) {
            payload[i] = 1;
            deque.push(i);
        }
        use(deque.take());
        use(deque.take());
    }
    use(deque.take());
    // An item that is taken twice is a race on its payload.
    require(taken[0] == 1 && taken[1] == 1, "each item is taken once");
}

TEST(Oracle, ChaseLevNeedsEachOfItsFences) {
    expect_passes(one_stale_read, [] { share_two_items(deque::all); });
    expect_fails(one_stale_read, "data race",
                 [] { share_two_items(deque::all & ~deque::of_take); });
    expect_fails(one_stale_read, "data race",
                 [] { share_two_items(deque::all & ~deque::of_steal); });
    expect_fails(one_stale_read, "data race",
                 [] { share_two_items(deque::all & ~deque::of_push); });
}

TEST(Oracle, ChaseLevAtRandomAndByPriorities) {
    for (const search how : {search::random, search::pct}) {
        const options wanted{.how = how, .executions_max = 20'000, .stale_reads = 1};
        expect_passes(wanted, [] { share_two_items(deque::all); });
        expect_fails(wanted, "data race", [] { share_two_items(deque::all & ~deque::of_take); });
        expect_fails(wanted, "data race", [] { share_two_items(deque::all & ~deque::of_steal); });
        expect_fails(wanted, "data race", [] { share_two_items(deque::all & ~deque::of_push); });
    }
}

// --- a signal to a task against its release ------------------------------------------------------

TEST(Oracle, ASignalInTwoStepsTouchesAFreedTask) {
    expect_fails("destroyed", [] {
        struct task {
            cell state{0};
            cell data{0};
        };
        auto* const shared = new task;
        thread sender{[=] {
            shared->state.store(1, release);
            static_cast<void>(shared->data.load(relaxed));
        }};
        while (shared->state.load(acquire) != 1) explorer::running()->yield();
        delete shared;
    });
}

TEST(Oracle, ASignalInOneStepDoesNot) {
    expect_passes([] {
        enum : int { running, waiting, signalled };
        auto* const state = new cell{running};
        bell pushed;
        thread sender{[&, state] {
            if (state->exchange(signalled, acq_rel) == waiting) pushed.ring();
        }};
        int expected = running;
        if (state->compare_exchange_strong(expected, waiting, acq_rel, acquire)) pushed.wait();
        require(state->load(acquire) == signalled, "the signal is there");
        delete state;
    });
}

}  // namespace
}  // namespace fairlead::model::oracle_tests
