// A promise and its future. The result races with the future that attaches, leaves or goes, and
// with the call that the promise has left, with every order of steps.
#include "model/bell.hpp"
#include "model/explore.hpp"

#include <fairlead/detail/future/gathering.hpp>
#include <fairlead/detail/future/trampoline.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/future/shared_future.hpp>
#include <fairlead/future/zip.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace fairlead::promise_tests {
namespace {

using model::plain;
using model::require;

using consumer = futures::consumer<int, std::exception_ptr>;

class bell_listener final : public futures::listener {
public:
    void tell() noexcept override {
        require(!was_told_, "a listener is told once");
        was_told_ = true;
        told_.ring();
    }
    void wait() { told_.wait(); }
    [[nodiscard]] bool was_told() const { return was_told_; }

private:
    plain<bool> was_told_{false};
    model::bell told_;
};

TEST(ModelPromise, TheFutureAttachesWhileThePromiseSettles) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        plain<int> before{0};
        model::in_threads(
            [&] {
                before = 1;
                auto mine = std::move(both.promise);
                mine.set(5);
            },
            [&] {
                consumer mine = both.future.release();
                bell_listener waiting;
                if (mine.of().attach(waiting)) waiting.wait();
                require(mine.take() == 5 && before == 1, "the result, and what came before it");
            });
    });
}

TEST(ModelPromise, AListenerForGoodIsTold) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        plain<int> before{0};
        model::in_threads(
            [&] {
                before = 1;
                auto mine = std::move(both.promise);
                mine.on_unwanted([] { require(false, "the future is there"); });
                mine.set(5);
            },
            [&] {
                consumer mine = both.future.release();
                bell_listener waiting;
                if (mine.of().attach_for_good(waiting)) waiting.wait();
                require(mine.take() == 5 && before == 1, "the result, and what came before it");
            });
    });
}

TEST(ModelPromise, AFutureThatIsReadyHasItsResult) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        plain<int> before{0};
        model::in_threads(
            [&] {
                before = 1;
                auto mine = std::move(both.promise);
                mine.set(5);
            },
            [&] {
                auto mine = std::move(both.future);
                if (mine.is_ready()) {
                    require(mine.take() == 5 && before == 1, "the result, and what came before it");
                }
            });
    });
}

TEST(ModelPromise, ABrokenPromiseTellsItsListener) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        model::in_threads([&] { const auto broken = std::move(both.promise); },
                          [&] {
                              consumer mine = both.future.release();
                              bell_listener waiting;
                              if (mine.of().attach(waiting)) waiting.wait();
                              require(!mine.take().has_value(), "a failure");
                          });
    });
}

TEST(ModelPromise, AWithdrawalRacesWithTheResult) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        model::in_threads(
            [&] {
                auto mine = std::move(both.promise);
                mine.set(5);
            },
            [&] {
                consumer mine = both.future.release();
                bell_listener first;
                if (mine.of().attach(first)) {
                    if (mine.of().withdraw()) {
                        bell_listener second;
                        if (mine.of().attach(second)) second.wait();
                        require(!first.was_told(), "it has left");
                    } else {
                        first.wait();
                    }
                }
                require(mine.take() == 5, "the result");
            });
    });
}

TEST(ModelPromise, TheFutureGoesWhileThePromiseSettles) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        auto calls = std::make_shared<plain<int>>(0);
        both.promise.on_unwanted([calls] { *calls = *calls + 1; });
        model::in_threads(
            [&] {
                auto mine = std::move(both.promise);
                mine.set(5);
            },
            [&] { both.future.detach(); });
        require(*calls <= 1, "once at most");
    });
}

TEST(ModelPromise, TheFutureGoesWhileThePromiseListens) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        auto calls = std::make_shared<plain<int>>(0);
        model::in_threads([&] { both.promise.on_unwanted([calls] { *calls = *calls + 1; }); },
                          [&] { both.future.detach(); });
        require(*calls == 1, "by one of the two");
        both.promise.set(5);
    });
}

TEST(ModelPromise, OneOfTwoThatTryGivesTheResult) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        bool first = false;
        bool second = false;
        model::in_threads([&] { first = both.promise.try_set(1); },
                          [&] { second = both.promise.try_set(2); });
        require(first != second, "one of the two");
        require(both.future.take() == (first ? 1 : 2), "its value");
    });
}

// Two threads that try to give the result, and a stop, which withdraws the wait for it.
TEST(ModelPromise, TwoThreadsAndAStopEndAWaitOnce) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        consumer mine = both.future.release();
        bell_listener first;
        require(mine.of().attach(first), "there is no result");
        bool one = false;
        bool other = false;
        bool gone = false;
        model::in_threads([&] { one = both.promise.try_set(1); },
                          [&] { other = both.promise.try_set(2); },
                          [&] { gone = mine.of().withdraw(); });
        require(one != other && gone != first.was_told(), "one of the two");
        require(mine.take() == (one ? 1 : 2), "the result");
    });
}

TEST(ModelPromise, AContinuationRunsOnce) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        plain<int> seen{0};
        model::in_threads(
            [&] {
                auto mine = std::move(both.promise);
                mine.set(5);
            },
            [&] {
                std::move(both.future)
                    .map([&](int value) { return value + 1; })
                    .map([&](int value) { seen = seen + value; })
                    .detach();
            });
        require(seen == 6, "in the thread that comes second");
    });
}

TEST(ModelGathering, TwoThatFailAtOnceGiveOneFailure) {
    model::expect_passes([] {
        auto one = make_promise<int>();
        auto two = make_promise<int>();
        const auto failure = std::make_exception_ptr(1);
        future<std::tuple<int, int>> all;
        model::in_threads([&] { one.promise.fail(failure); }, [&] { two.promise.fail(failure); },
                          [&] { all = zip(std::move(one.future), std::move(two.future)); });
        require(all.is_ready() && !all.take().has_value(), "the first failure");
    });
}

TEST(ModelGathering, AFailureRacesWithAValue) {
    model::expect_passes([] {
        auto one = make_promise<int>();
        auto two = make_promise<int>();
        auto all = zip(std::move(one.future), std::move(two.future));
        model::in_threads([&] { one.promise.fail(std::make_exception_ptr(1)); },
                          [&] { two.promise.set(2); });
        require(all.is_ready() && !all.take().has_value(), "the failure");
    });
}

TEST(ModelSharedFuture, TheLastCopyGoesWhileTheResultComes) {
    model::expect_passes([] {
        auto both = make_promise<int>();
        auto one = share(std::move(both.future));
        auto two = one;
        model::in_threads(
            [&] {
                auto mine = std::move(both.promise);
                mine.set(5);
            },
            [&] { one = {}; },
            [&] {
                two.copy().map([](int value) { require(value == 5, "the result"); }).detach();
                two = {};
            });
    });
}

}  // namespace
}  // namespace fairlead::promise_tests
