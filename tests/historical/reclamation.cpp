// When may a thread free memory that other threads read without a lock? When may it trust a copy?
#include "historical/corpus.hpp"

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

struct object {
    cell value{1};
};

// A hazard pointer. The reader publishes the object that it is about to use, and looks whether the
// object is still linked. The freeing thread unlinks the object, and looks whether a reader has
// published it. With release and acquire alone each may miss the other's store.
void protects_without_a_fence(bool fixed) {
    sync::atomic<object*> shared{new object};
    sync::atomic<object*> hazard{nullptr};
    thread reader{[&] {
        object* const seen = shared.load(acquire);
        hazard.store(seen, release);
        if (fixed) fence(seq_cst);
        if (seen != nullptr && shared.load(acquire) == seen)
            static_cast<void>(seen->value.load(relaxed));
        hazard.store(nullptr, release);
    }};
    object* const unlinked = shared.exchange(nullptr, acq_rel);
    if (fixed) fence(seq_cst);
    if (hazard.load(acquire) == unlinked) reader.join();
    delete unlinked;
}

// Epochs. A reader that pins itself records the epoch. The epoch moves on when all pinned readers
// are in it. An object that was unlinked in epoch e may be freed in e + 2. 1. A thread unlinks an
// object and reads the epoch, 10, though a reader may not see the unlinking yet. 2. A reader moves
// the epoch on to 11, pins itself in it, and finds the object. 3. The thread moves the epoch on to
// 12 and frees the object.
void stamps_before_the_fence(bool fixed) {
    constexpr int nobody = 0;
    cell epoch{10};
    cell pinned{nobody};
    sync::atomic<object*> shared{new object};
    const auto advance = [&] {
        const int now = epoch.load(relaxed);
        fence(seq_cst);
        const int in = pinned.load(acquire);
        if (in == nobody || in == now) epoch.store(now + 1, release);
    };
    thread reader{[&] {
        advance();
        pinned.store(epoch.load(relaxed), relaxed);
        fence(seq_cst);
        object* const seen = shared.load(acquire);
        if (seen != nullptr) static_cast<void>(seen->value.load(relaxed));
        pinned.store(nobody, release);
    }};
    object* const unlinked = shared.load(relaxed);
    shared.store(nullptr, release);
    if (fixed) fence(seq_cst);
    const int stamp = epoch.load(relaxed);
    if (!fixed) fence(seq_cst);
    advance();
    if (epoch.load(acquire) < stamp + 2) reader.join();
    delete unlinked;
}

// A sequence lock. The writer makes the sequence odd, writes, makes it even; the reader reads
// between two looks at it. Acquire orders what comes after a load, not what came before: the
// second look needs a fence before it, and the first step of the writer one after it.
void reads_between_two_looks(bool fixed) {
    cell sequence{0};
    cell first{0};
    cell second{0};
    thread writer{[&] {
        sequence.exchange(1, acquire);
        if (fixed) fence(release);
        first.store(1, relaxed);
        second.store(1, relaxed);
        sequence.store(2, release);
    }};
    const int before = sequence.load(acquire);
    const int a = first.load(relaxed);
    const int b = second.load(relaxed);
    if (fixed) fence(acquire);
    const int after = sequence.load(fixed ? relaxed : acquire);
    if (before == after && before % 2 == 0) require(a == b, "both halves are of one write");
}

}  // namespace

std::vector<bug> reclamation() {
    return {
        {"thread_system_602", "kcenon/thread_system, issue #600, PR #602",
         "A hazard pointer is published with release: the store and the look at the source may "
         "pass each "
         "other",
         "here: a sequentially consistent fence on both sides", protects_without_a_fence,
         "destroyed"},
        {"crossbeam_epoch_53", "crossbeam-epoch, PR #53",
         "Garbage is stamped with an epoch that was read before the fence, so it is freed one "
         "epoch early",
         "the fence, and then the epoch", stamps_before_the_fence, "destroyed"},
        {"cpython_121368", "CPython, issue gh-121368, PR #121388",
         "The end of a read under a sequence lock is an acquiring load, and the begin of a write "
         "has no "
         "fence",
         "a fence before the one and after the other", reads_between_two_looks,
         "required: both halves are of one write"},
    };
}

}  // namespace fairlead::model::historical
