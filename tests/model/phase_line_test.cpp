// Shared and exclusive entries. Threads enter, wait, leave, give up, and close the line, with every
// order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/sync/phase_line.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace fairlead::phase_line_tests {
namespace {

using model::bell_wait;
using model::plain;
using model::require;
using sync::phase_line;
using entry = phase_line::entry;
using closing = phase_line::closing;

constexpr entry shared = entry::shared;
constexpr entry exclusive = entry::exclusive;

class wait final : public bell_wait<phase_line::waiter> {
public:
    using bell_wait::bell_wait;

    // Whether this is the teardown, which it waits for.
    bool close(phase_line& of) {
        const closing how = of.close(*this);
        if (how == closing::waits) wait_for_end();
        require((how != closing::closed) == has(), "a teardown is granted");
        return has();
    }
};

// [RW2]
TEST(ModelPhaseLine, WritersAreAlone) {
    model::expect_passes({.preemptions = 2}, [] {
        phase_line one;
        plain<int> guarded{0};
        const auto writes = [&] {
            wait mine{exclusive};
            require(mine.ask(one), "granted");
            guarded = guarded + 1;
            one.leave(exclusive);
        };
        const auto reads = [&] {
            wait mine{shared};
            require(mine.ask(one), "granted");
            require(guarded <= 2, "it is read while no thread writes");
            one.leave(shared);
        };
        model::in_threads(writes, writes, reads);
        require(guarded == 2, "each writer was alone");
        require(one.try_enter(exclusive), "all have left");
        one.leave(exclusive);
    });
}

// [RW2] Without waits.
TEST(ModelPhaseLine, TriesOrderWhatTheyGuard) {
    model::expect_passes([] {
        phase_line one;
        plain<int> guarded{0};
        const auto writes = [&] {
            if (!one.try_enter(exclusive)) return;
            guarded = guarded + 1;
            one.leave(exclusive);
        };
        const auto reads = [&] {
            if (!one.try_enter(shared)) return;
            require(guarded <= 1, "it is read while no thread writes");
            one.leave(shared);
        };
        model::in_threads(writes, reads, reads);
        require(one.shared() == 0 && !one.is_exclusive(), "all have left");
    });
}

// The end of a writer lets in both readers, which are together, though a writer waits, too.
TEST(ModelPhaseLine, TheEndOfAWriterLetsInAllReadersThatWait) {
    model::expect_passes([] {
        phase_line one;
        require(one.try_enter(exclusive), "nothing is inside");
        wait writer{exclusive};
        wait first{shared};
        wait second{shared};
        require(one.enter(writer) && one.enter(first) && one.enter(second), "all wait");
        model::in_threads([&] { one.leave(exclusive); }, [&] { static_cast<void>(one.waiting()); });
        require(first.has() && second.has() && one.shared() == 2, "a phase of readers");
        require(!writer.has() && !one.try_enter(shared), "a later reader comes after the writer");
        wait late{shared};
        require(one.enter(late), "it waits");
        one.leave(shared);
        require(!writer.has(), "one reader is inside");
        one.leave(shared);
        require(writer.has() && !late.has(), "the end of the phase lets in one writer");
        one.leave(exclusive);
        require(late.has(), "and that the next phase");
        one.leave(shared);
    });
}

// The last reader and the only waiting writer leave together.
TEST(ModelPhaseLine, AWithdrawalLetsTheReadersIn) {
    model::expect_passes([] {
        phase_line one;
        require(one.try_enter(shared), "nothing is inside");
        wait writer{exclusive};
        require(one.enter(writer), "it waits");
        wait reader{shared};
        bool gone = false;
        model::in_threads([&] { gone = one.withdraw(writer); }, [&] { one.leave(shared); },
                          [&] {
                              // Behind a writer that comes in, a reader waits for ever.
                              static_cast<void>(one.enter(reader));
                          });
        require(gone != writer.was_told(), "one of the two");
        require(gone != one.is_exclusive(), "it has what it was granted");
        if (!gone) one.leave(exclusive);
        require(reader.has(), "nothing is before the reader");
        one.leave(shared);
        require(one.try_enter(exclusive), "nothing is lost");
        one.leave(exclusive);
    });
}

// A writer that waits, two threads, and a stop, under each policy: the holder leaves, and another
// entry waits behind the writer, or the line is closed.
TEST(ModelPhaseLine, TwoThreadsAndAStopEndAWaitOnce) {
    enum class act : std::uint8_t { reads, writes, closes };
    using policy = phase_line::policy;
    for (const policy order : {policy::phase_fair, policy::arrival, policy::exclusive_first}) {
        for (const act what : {act::reads, act::writes, act::closes}) {
            model::expect_passes([=] {
                phase_line one{order};
                require(one.try_enter(shared), "nothing is inside");
                wait writer{exclusive};
                require(one.enter(writer), "a reader is inside");
                wait other{what == act::reads ? shared : exclusive};
                bool gone = false;
                model::in_threads([&] { gone = one.withdraw(writer); }, [&] { one.leave(shared); },
                                  [&] {
                                      static_cast<void>(what == act::closes
                                                            ? one.close(other) == closing::waits
                                                            : one.enter(other));
                                  });
                if (!gone) require(writer.was_told(), "it ends once");
                require(!(writer.has() && other.has()), "a writer is alone");
                if (writer.has()) one.leave(exclusive);
                require(other.has(), "what waits behind it comes in, at last");
                one.leave(other.kind());
                require(one.shared() == 0 && !one.is_exclusive(), "all have left");
            });
        }
    }
}

// No writer comes between the two halves of a downgrade; what it wrote is seen by readers.
TEST(ModelPhaseLine, ADowngradeLetsNoWriterIn) {
    for (const entry other : {exclusive, shared}) {
        model::expect_passes([&] {
            phase_line one;
            plain<int> guarded{0};
            model::in_threads(
                [&] {
                    wait mine{exclusive};
                    require(mine.ask(one), "granted");
                    guarded = guarded + 10;
                    const int before = guarded;
                    one.downgrade();
                    require(guarded == before, "no thread has written meanwhile");
                    one.leave(shared);
                },
                [&] {
                    wait mine{other};
                    require(mine.ask(one), "granted");
                    if (other == exclusive) guarded = guarded + 1;
                    require(guarded != 2, "it is read while no thread writes");
                    one.leave(other);
                });
            require(guarded == (other == exclusive ? 11 : 10), "each writer was alone");
        });
    }
}

TEST(ModelPhaseLine, OnlyTheSoleReaderBecomesTheWriter) {
    model::expect_passes([] {
        phase_line one;
        plain<int> guarded{0};
        int upgraded = 0;
        const auto reads = [&] {
            wait mine{shared};
            require(mine.ask(one), "granted");
            const int before = guarded;
            if (one.try_upgrade()) {
                require(guarded == before, "no thread has written meanwhile");
                guarded = before + 1;
                ++upgraded;
                one.leave(exclusive);
            } else {
                one.leave(shared);
            }
        };
        model::in_threads(reads, reads);
        require(guarded == upgraded, "each writer was alone");
    });
}

// Under the other two policies, the end of a holder, and a withdrawal, with every order.
TEST(ModelPhaseLine, UnderArrivalNothingPassesAWait) {
    model::expect_passes([] {
        phase_line one{phase_line::policy::arrival};
        require(one.try_enter(exclusive), "nothing is inside");
        wait first{shared};
        wait second{exclusive};
        wait third{shared};
        require(one.enter(first) && one.enter(second) && one.enter(third), "all wait");
        bool gone = false;
        model::in_threads([&] { one.leave(exclusive); }, [&] { gone = one.withdraw(second); });
        require(first.has(), "it is at the front");
        require(gone && third.has() && one.shared() == 2, "a withdrawal lets in what is behind");
        one.leave(shared);
        one.leave(shared);
        require(one.try_enter(exclusive), "all have left");
        one.leave(exclusive);
    });
}

TEST(ModelPhaseLine, UnderExclusiveFirstSharedEntriesAreTheLast) {
    model::expect_passes([] {
        phase_line one{phase_line::policy::exclusive_first};
        require(one.try_enter(exclusive), "nothing is inside");
        wait reader{shared};
        wait writer{exclusive};
        require(one.enter(reader) && one.enter(writer), "both wait");
        bool gone = false;
        model::in_threads([&] { one.leave(exclusive); }, [&] { gone = one.withdraw(writer); });
        require(gone != writer.was_told(), "one of the two");
        require(gone == reader.has(), "the writer comes first, unless it has left");
        if (!gone) one.leave(exclusive);
        require(reader.has(), "nothing is before the reader");
        one.leave(shared);
    });
}

// --- the close -----------------------------------------------------------------------------------

TEST(ModelPhaseLine, ACloseEndsTheWaitsAndTearsDownOnceAfterTheHolders) {
    model::expect_passes([] {
        phase_line one;
        plain<int> guarded{0};
        int teardowns = 0;
        const auto uses = [&](entry kind) {
            wait mine{kind};
            if (!mine.ask(one)) return;
            if (kind == exclusive) guarded = guarded + 1;
            one.leave(kind);
        };
        const auto closes = [&] {
            wait mine{exclusive};
            if (!mine.close(one)) return;
            guarded = guarded + 1;
            ++teardowns;
            one.leave(exclusive);
        };
        model::in_threads([&] { uses(exclusive); }, closes, closes);
        require(teardowns == 1, "one teardown, after all holders");
        wait late{shared};
        require(!late.ask(one) && one.is_closed(), "closed stays closed");
    });
}

TEST(ModelPhaseLine, ACloseWaitsForTheReaders) {
    model::expect_passes([] {
        phase_line one;
        plain<int> readers{0};
        require(one.try_enter(shared) && one.try_enter(shared), "two readers");
        model::in_threads([&] { one.leave(shared); },
                          [&] {
                              readers = 1;
                              one.leave(shared);
                          },
                          [&] {
                              wait mine{exclusive};
                              require(mine.close(one), "the first close");
                              require(readers == 1 && one.shared() == 0, "the readers have left");
                          });
    });
}

// [RW2]
TEST(ModelPhaseLine, WhatWasDoneBeforeACloseIsSeen) {
    model::expect_passes([] {
        phase_line one;
        plain<int> written{0};
        model::in_threads(
            [&] {
                written = 1;
                wait mine{exclusive};
                require(mine.close(one), "nothing is inside");
            },
            [&] {
                if (one.is_closed()) require(written == 1, "it is seen");
            });
        require(one.is_closed() && one.is_exclusive(), "the teardown holds the line");
    });
}

// The wait for the teardown gives up. The next close has it.
TEST(ModelPhaseLine, ATeardownThatIsWithdrawnIsLeftToTheNextClose) {
    model::expect_passes([] {
        phase_line one;
        require(one.try_enter(shared), "nothing is inside");
        wait first{exclusive};
        require(one.close(first) == closing::waits, "a reader is inside");
        bool gone = false;
        model::in_threads([&] { gone = one.withdraw(first); }, [&] { one.leave(shared); });
        require(gone != first.was_told(), "one of the two");
        wait second{exclusive};
        require(one.close(second) == (gone ? closing::granted : closing::closed), "one teardown");
    });
}

// A close that does not wait: it ends the waits, beside the end of the holder, and the next close
// has the teardown after that.
TEST(ModelPhaseLine, ARefusalEndsTheWaitsAndLeavesTheTeardown) {
    for (const entry holder : {shared, exclusive}) {
        model::expect_passes({.preemptions = 2}, [&] {
            phase_line one;
            require(one.try_enter(holder), "nothing is inside");
            model::in_threads([&] { one.leave(holder); }, [&] { one.refuse(); },
                              [&] {
                                  wait mine{exclusive};
                                  if (mine.ask(one)) one.leave(exclusive);
                              });
            require(one.is_closed() && one.waiting() == 0, "nothing waits");
            require(!one.try_enter(shared), "closed stays closed");
            wait last{exclusive};
            require(one.close(last) == closing::granted, "the teardown was left");
            one.refuse();
            require(one.is_exclusive(), "the teardown holds the line");
        });
    }
}

// --- the end of the line -------------------------------------------------------------------------

TEST(ModelPhaseLine, TheFirstOneToldMayDestroyTheLine) {
    for (const entry holder : {shared, exclusive}) {
        model::expect_passes([&] {
            auto one = std::make_unique<phase_line>();
            require(one->try_enter(holder), "nothing is inside");
            wait first{exclusive};
            first.first_act = [&] { one.reset(); };
            model::in_threads([&] { one->leave(holder); },
                              [&] {
                                  if (!one->enter(first) && first.has()) one.reset();
                              });
        });
    }
}

// [RW1] A leave, the withdrawal of the only wait, and a thread that enters without the mutex, and
// destroys the line.
TEST(ModelPhaseLine, AThreadThatEntersLastMayDestroyTheLine) {
    model::expect_passes([] {
        auto one = std::make_unique<phase_line>();
        require(one->try_enter(exclusive), "nothing is inside");
        wait first{exclusive};
        require(one->enter(first), "it waits");
        model::in_threads([&] { one->leave(exclusive); },
                          [&] {
                              // The other thread has left after a withdrawal that succeeds.
                              if (!one->withdraw(first)) return one.reset();
                              wait again{exclusive};
                              if (one->try_enter(exclusive) || again.ask(*one)) one.reset();
                          });
        require(one == nullptr, "it is gone");
    });
}

}  // namespace
}  // namespace fairlead::phase_line_tests
