// Shares of an object: the end of the last one destroys it, once.
#include "model/explore.hpp"

#include <fairlead/channel/held.hpp>
#include <fairlead/detail/sync/share_count.hpp>

#include <gtest/gtest.h>

#include <array>

namespace fairlead::share_count_tests {
namespace {

using model::plain;
using model::require;

TEST(ModelShareCount, TheEndOfTheLastShareSeesWhatAllHaveDone) {
    model::expect_passes([] {
        sync::share_count shares{2};
        std::array<plain<int>, 2> done{plain<int>{0}, plain<int>{0}};
        std::array<bool, 2> was_last{};
        const auto ends = [&](std::size_t index) {
            done[index] = 1;
            was_last[index] = shares.drop();
            if (was_last[index]) require(done[0] + done[1] == 2, "it sees both");
        };
        model::in_threads([&] { ends(0); }, [&] { ends(1); });
        require(was_last[0] != was_last[1], "one of them is the last");
    });
}

TEST(ModelShareCount, AShareThatIsCopiedKeepsTheObject) {
    model::expect_passes([] {
        sync::share_count shares;
        shares.add();
        int ends = 0;
        plain<int> value{5};
        std::array<int, 2> ended{};
        model::in_threads(
            [&] {
                shares.add();
                require(!shares.drop(), "the first share is there");
                require(value == 5, "and so is the object");
                if (shares.drop()) {
                    value = 0;
                    ++ended[0];
                }
            },
            [&] {
                require(value == 5, "it is there");
                if (shares.drop()) {
                    value = 0;
                    ++ended[1];
                }
            });
        ends = ended[0] + ended[1];
        require(ends == 1, "it ends once");
    });
}

TEST(ModelShareCount, AHeldValueEndsOnceAfterItsReaders) {
    struct probe {
        plain<int>* ends;
        plain<int> read{0};
        explicit probe(plain<int>& into) : ends{&into} {}
        ~probe() { *ends = *ends + 1; }
    };
    model::expect_passes([] {
        plain<int> ends{0};
        {
            auto first = make_held<probe>(ends);
            auto second = first;
            model::in_threads(
                [&first] {
                    require(*first->ends == 0, "it is there");
                    first = {};
                },
                [&second] {
                    const auto copy = second;
                    second = {};
                    require(copy->read == 0, "it is there");
                });
        }
        require(ends == 1, "it ends once");
    });
}

}  // namespace
}  // namespace fairlead::share_count_tests
