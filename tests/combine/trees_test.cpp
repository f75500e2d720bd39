// Random trees of combinators, with sleeps, failures, deadlines, bounds and a stop, against their
// sequential rules.
//
// Each node of a tree writes down when it began and ended, and how. The rules say what that must
// have been, from when a node began and was asked to stop: of a combinator from the ends of its
// children, in the order in which they came. The form of a combinator does not matter: its children
// may be a vector or a range, and fail by an exception or by an error. All delays differ, so what
// happens at the same time has the same cause.
#include "combine/children.hpp"
#include "support/seeds.hpp"

#include <fairlead/combine/as_completed.hpp>
#include <fairlead/combine/race.hpp>
#include <fairlead/combine/when_all_ok.hpp>
#include <fairlead/combine/when_all_settled.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/combine/with_timeout.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::trees_tests {
namespace {

using namespace std::chrono_literals;
using test::below;

enum class kind : std::uint8_t { leaf, all, settled, any, race, completed, timeout };
constexpr std::size_t no_bound = 1'000'000;

struct number_failure {
    std::uint64_t number;
};

// How a node has ended. `expired` is the value of a `with_timeout` that has none.
struct outcome {
    enum class how : std::uint8_t { value, failure, stopped };
    how end = how::stopped;
    std::uint64_t number = 0;

    bool operator==(const outcome&) const = default;
};
constexpr outcome stopped_outcome{};
constexpr std::uint64_t expired_value = 1;

void PrintTo(const outcome& shown, std::ostream* to) {
    constexpr const char* names[] = {"value", "failure", "stopped"};
    *to << names[static_cast<int>(shown.end)] << ' ' << shown.number;
}

std::uint64_t mix(std::uint64_t sum, std::uint64_t next) {
    return (sum ^ next) * 0x9e3779b97f4a7c15 + 0x7f4a7c15;
}
std::uint64_t mix(std::uint64_t sum, const outcome& next) {
    return mix(mix(sum, static_cast<std::uint64_t>(next.end)), next.number);
}

struct node {
    kind what = kind::leaf;
    // A leaf.
    duration delay{};
    bool insists = false;  // no stop ends it early
    outcome gives;
    // A combinator.
    std::vector<std::unique_ptr<node>> children;
    std::size_t bound = no_bound;
    duration limit{};
    bool is_range = false;      // its children are read from a range
    bool takes_errors = false;  // of when_all and race: a failure of a child is an error

    // What was seen.
    bool has_begun = false;
    std::optional<outcome> ended;
    time_point begin;
    time_point end;
    int number = 0;  // of the end, in the order of all ends
};

outcome outcome_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const number_failure& thrown) {
        return {outcome::how::failure, thrown.number};
    } catch (const stopped_error&) {
        return stopped_outcome;
    } catch (const race_error& thrown) {
        std::uint64_t sum = 0;
        for (const auto& each : thrown.failures()) sum = mix(sum, outcome_of(each));
        return {outcome::how::failure, sum};
    }
}
outcome outcome_of(const settled<std::uint64_t>& ended) {
    if (ended) return {outcome::how::value, *ended};
    return outcome_of(ended.error());
}

// --- the tree runs -------------------------------------------------------------------------------

struct world {
    test::manual_clock& clock;
    int ends = 0;
};

task<std::uint64_t> runs(world& in, node& self);

std::vector<task<std::uint64_t>> children_of(world& in, node& self) {
    std::vector<task<std::uint64_t>> bodies;
    for (auto& each : self.children) bodies.push_back(runs(in, *each));
    return bodies;
}

auto range_of(world& in, node& self) {
    return std::views::iota(std::size_t{0}, self.children.size()) |
           std::views::transform(
               [&](std::size_t index) { return runs(in, *self.children[index]); });
}

using result = std::expected<std::uint64_t, std::uint64_t>;

task<result> with_errors(task<std::uint64_t> body) {
    std::exception_ptr failure;
    std::uint64_t value = 0;
    try {
        value = co_await std::move(body);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure == nullptr) co_return value;
    const outcome ended = outcome_of(failure);
    if (ended.end == outcome::how::stopped) std::rethrow_exception(failure);
    co_return std::unexpected{ended.number};
}

auto range_with_errors(world& in, node& self) {
    return range_of(in, self) | std::views::transform(with_errors);
}
std::vector<task<result>> children_with_errors(world& in, node& self) {
    std::vector<task<result>> bodies;
    for (auto each : range_with_errors(in, self)) bodies.push_back(std::move(each));
    return bodies;
}

template <class Several>
std::uint64_t mix_all(const Several& several) {
    std::uint64_t sum = 0;
    for (const auto& each : several) sum = mix(sum, each);
    return sum;
}

template <class Stream>
task<std::uint64_t> takes_all(std::size_t count, Stream& stream) {
    std::vector<outcome> seen(count);
    while (const auto next = co_await stream.next()) seen[next->index] = outcome_of(next->result);
    co_return mix_all(seen);
}

task<std::uint64_t> completes(world& in, node& self) {
    if (self.is_range) {
        auto stream = as_completed(range_of(in, self), max_concurrency{self.bound});
        co_return co_await takes_all(self.children.size(), stream);
    }
    auto stream = as_completed(children_of(in, self), max_concurrency{self.bound});
    co_return co_await takes_all(self.children.size(), stream);
}

// A range leaves out what has not begun.
task<std::uint64_t> settles_range(world& in, node& self) {
    std::vector<outcome> seen(self.children.size());
    const auto all = co_await when_all_settled(range_of(in, self), max_concurrency{self.bound});
    for (std::size_t i = 0; i != all.size(); ++i) seen[i] = outcome_of(all[i]);
    co_return mix_all(seen);
}

// Not coroutines: in one, GCC 12 destroys the value of a conditional expression twice.
auto all_ok_of(world& in, node& self) {
    const max_concurrency bound{self.bound};
    return self.is_range ? when_all_ok(range_with_errors(in, self), bound)
                         : when_all_ok(children_with_errors(in, self), bound);
}
auto all_of(world& in, node& self) {
    const max_concurrency bound{self.bound};
    return self.is_range ? when_all(range_of(in, self), bound)
                         : when_all(children_of(in, self), bound);
}
auto race_ok_of(world& in, node& self) {
    const max_concurrency bound{self.bound};
    return self.is_range ? race_ok(range_with_errors(in, self), bound)
                         : race_ok(children_with_errors(in, self), bound);
}
auto race_of(world& in, node& self) {
    const max_concurrency bound{self.bound};
    return self.is_range ? race(range_of(in, self), bound) : race(children_of(in, self), bound);
}
template <class Sink>
auto any_of(world& in, node& self, Sink& sink) {
    const max_concurrency bound{self.bound};
    return self.is_range ? when_any(on_loser(sink), range_of(in, self), bound)
                         : when_any(on_loser(sink), children_of(in, self), bound);
}

task<std::uint64_t> takes_all_values(world& in, node& self) {
    if (!self.takes_errors) co_return mix_all(co_await all_of(in, self));
    const auto values = co_await all_ok_of(in, self);
    if (!values) throw number_failure{values.error()};
    co_return mix_all(*values);
}

task<std::uint64_t> races_with_errors(world& in, node& self) {
    const auto first = co_await race_ok_of(in, self);
    if (first) co_return *first;
    std::uint64_t sum = 0;
    for (const auto each : first.error()) sum = mix(sum, {outcome::how::failure, each});
    throw number_failure{sum};
}

task<std::uint64_t> settles(world& in, node& self) {
    std::vector<outcome> seen;
    if (self.children.size() == 2 && self.bound == no_bound) {
        const auto [one, two] =
            co_await when_all_settled(runs(in, *self.children[0]), runs(in, *self.children[1]));
        seen = {outcome_of(one), outcome_of(two)};
    } else {
        const auto all =
            co_await when_all_settled(children_of(in, self), max_concurrency{self.bound});
        for (const auto& each : all) seen.push_back(outcome_of(each));
    }
    co_return mix_all(seen);
}

task<std::uint64_t> takes_the_first(world& in, node& self) {
    std::size_t lost = 0;
    const auto counts = [&](std::size_t, const settled<std::uint64_t>&) { ++lost; };
    const auto first = co_await any_of(in, self, counts);
    std::size_t read = self.children.size();
    if (self.is_range) read = std::min(self.bound, read);
    EXPECT_EQ(lost, read - 1);
    if (!first.result) std::rethrow_exception(first.result.error());
    co_return mix(first.index, *first.result);
}

task<std::uint64_t> waits_until(world& in, node& self) {
    const auto ended = co_await with_timeout(runs(in, *self.children[0]), self.limit);
    if (ended) co_return *ended;
    if (ended.error() == wait_error::stopped) throw stopped_error{};
    co_return expired_value;
}

task<std::uint64_t> sleeps(const node& self) {
    if (self.insists) {
        co_await shielded(sleep_for(self.delay));
    } else {
        co_await sleep_for(self.delay);
    }
    if (self.gives.end == outcome::how::failure) throw number_failure{self.gives.number};
    co_return self.gives.number;
}

task<std::uint64_t> combines(world& in, node& self) {
    switch (self.what) {
        case kind::leaf:
            return sleeps(self);
        case kind::all:
            return takes_all_values(in, self);
        case kind::settled:
            return self.is_range ? settles_range(in, self) : settles(in, self);
        case kind::any:
            return takes_the_first(in, self);
        case kind::race:
            return self.takes_errors ? races_with_errors(in, self) : race_of(in, self);
        case kind::completed:
            return completes(in, self);
        case kind::timeout:
            break;
    }
    return waits_until(in, self);
}

task<std::uint64_t> runs(world& in, node& self) {
    self.has_begun = true;
    self.begin = in.clock.now();
    std::exception_ptr failure;
    std::uint64_t value = 0;
    try {
        value = co_await combines(in, self);
        self.ended = outcome{outcome::how::value, value};
    } catch (...) {
        failure = std::current_exception();
        self.ended = outcome_of(failure);
    }
    self.end = in.clock.now();
    self.number = ++in.ends;
    if (failure != nullptr) std::rethrow_exception(failure);
    co_return value;
}

// --- the rules -----------------------------------------------------------------------------------

// Whether the end of a child asks the rest to stop.
bool stops_the_rest(kind what, const outcome& end) {
    switch (what) {
        case kind::all:
            return end.end != outcome::how::value;
        case kind::any:
            return true;
        case kind::race:
            return end.end == outcome::how::value;
        default:
            return false;
    }
}

// For the message of a failure.
std::string tree_of(const node& shown, const std::string& indent = "\n") {
    constexpr const char* names[] = {"leaf", "when_all",     "when_all_settled", "when_any",
                                     "race", "as_completed", "with_timeout"};
    std::string text = indent + names[static_cast<int>(shown.what)];
    if (shown.what == kind::leaf) text += " of " + std::to_string(shown.delay.count());
    if (shown.what == kind::timeout) text += " of " + std::to_string(shown.limit.count());
    if (shown.insists) text += ", insists";
    if (shown.is_range) text += ", of a range";
    if (shown.takes_errors) text += ", with errors";
    if (shown.bound != no_bound) text += ", bound " + std::to_string(shown.bound);
    if (!shown.has_begun) return text + ", has not begun";
    text += ", from " + std::to_string(shown.begin.time_since_epoch().count());
    if (!shown.ended) return text + ", has not ended";
    text += " to " + std::to_string(shown.end.time_since_epoch().count()) + ": " +
            testing::PrintToString(*shown.ended);
    for (const auto& each : shown.children) text += tree_of(*each, indent + "  ");
    return text;
}

// The result of a combinator whose children have ended. `ends`: those that have begun, in the order
// of their ends.
outcome result_of(const node& self, const std::vector<const node*>& ends, bool is_late) {
    std::vector<outcome> in_order;
    for (const auto& each : self.children) in_order.push_back(each->ended.value_or(outcome{}));
    const bool some_stopped =
        std::ranges::any_of(in_order, [](const outcome& each) { return each == outcome{}; });
    const auto first = [&](outcome::how wanted) {
        return std::ranges::find_if(ends,
                                    [=](const node* each) { return each->ended->end == wanted; });
    };
    const outcome all{outcome::how::value, mix_all(in_order)};
    switch (self.what) {
        case kind::all: {
            if (const auto failed = first(outcome::how::failure); failed != ends.end())
                return *(*failed)->ended;
            if (some_stopped) return stopped_outcome;
            std::uint64_t sum = 0;
            for (const outcome& each : in_order) sum = mix(sum, each.number);
            return {outcome::how::value, sum};
        }
        case kind::any: {
            const node& winner = *ends.front();
            if (winner.ended->end != outcome::how::value) return *winner.ended;
            const auto index = std::ranges::find_if(
                self.children, [&](const auto& each) { return each.get() == &winner; });
            return {outcome::how::value,
                    mix(static_cast<std::uint64_t>(index - self.children.begin()),
                        winner.ended->number)};
        }
        case kind::race: {
            if (const auto won = first(outcome::how::value); won != ends.end())
                return *(*won)->ended;
            if (some_stopped) return stopped_outcome;
            return {outcome::how::failure, all.number};
        }
        case kind::timeout:
            if (in_order[0].end != outcome::how::stopped || !is_late) return in_order[0];
            return {outcome::how::value, expired_value};
        default:
            return all;
    }
}

void expect_leaf_follows(const node& leaf, time_point stop) {
    const bool is_cut = !leaf.insists && stop < leaf.begin + leaf.delay;
    EXPECT_EQ(*leaf.ended, is_cut ? stopped_outcome : leaf.gives);
    EXPECT_EQ(leaf.end, is_cut ? std::max(leaf.begin, stop) : leaf.begin + leaf.delay);
}

// `stop`: when the node was asked to.
void expect_follows(const node& self, time_point stop) {
    ASSERT_TRUE(self.has_begun && self.ended) << "a combinator leaves nothing behind";
    if (self.what == kind::leaf) return expect_leaf_follows(self, stop);

    std::vector<const node*> ends;
    for (const auto& each : self.children) {
        if (each->has_begun) ends.push_back(each.get());
    }
    std::ranges::sort(ends, {}, &node::number);

    const time_point deadline = self.what == kind::timeout ? self.begin + self.limit : never;
    const time_point from_outside = std::min(stop, deadline);
    time_point stopping = from_outside;  // when the children are asked to stop
    const node* decides = nullptr;       // whose end asks the rest
    time_point last = self.begin;
    // When each child begins: the first ones at once, and each end begins the next.
    std::vector<time_point> begins(std::min(self.bound, self.children.size()), self.begin);
    for (const node* const each : ends) {
        ASSERT_TRUE(each->ended);
        last = std::max(last, each->end);
        if (each->end >= stopping) continue;
        if (stops_the_rest(self.what, *each->ended)) {
            stopping = each->end;
            decides = each;
        } else if (begins.size() != self.children.size()) {
            begins.push_back(each->end);
        }
    }
    // A stream that is stopped before its first task has begun begins none.
    if (self.what == kind::completed && stop <= self.begin && ends.size() < begins.size())
        begins.resize(ends.size());
    ASSERT_EQ(ends.size(), begins.size()) << "what has not begun when the rest stop never does";
    EXPECT_EQ(self.end, last) << "it ends with its last child";
    EXPECT_EQ(*self.ended, result_of(self, ends, deadline < stop));
    for (std::size_t i = 0; i != begins.size(); ++i) {
        ASSERT_TRUE(self.children[i]->has_begun) << "they begin in order";
        EXPECT_EQ(self.children[i]->begin, begins[i]);
        const bool ended_before = decides != nullptr && self.children[i]->number <= decides->number;
        expect_follows(*self.children[i], ended_before ? from_outside : stopping);
    }
}

// --- trees ---------------------------------------------------------------------------------------

class maker {
public:
    explicit maker(std::mt19937_64& random) : random_{random} {}

    duration delay() { return duration{static_cast<std::int64_t>(random_() % (1ULL << 45)) + 1}; }

    std::unique_ptr<node> make(int depth) {
        auto made = std::make_unique<node>();
        made->what = depth == 0 ? kind::leaf : static_cast<kind>(below(random_, 7));
        if (made->what == kind::leaf) {
            made->delay = delay();
            made->insists = below(random_, 4) == 0;
            made->gives = {below(random_, 3) == 0 ? outcome::how::failure : outcome::how::value,
                           random_() | 2};
            return made;
        }
        // Without a child it would end at once: then the order at one time would matter.
        const std::size_t count =
            made->what == kind::timeout ? 1 : 1 + below(random_, std::size_t{5});
        if (below(random_, 2) == 0) made->bound = 1 + below(random_, std::size_t{4});
        made->limit = delay();
        made->is_range = below(random_, 2) == 0;
        made->takes_errors = below(random_, 2) == 0;
        for (std::size_t i = 0; i != count; ++i) made->children.push_back(make(depth - 1));
        return made;
    }

private:
    std::mt19937_64& random_;
};

outcome outcome_of(join_handle<std::uint64_t>& ended) {
    try {
        return {outcome::how::value, ended.get()};
    } catch (...) {
        return outcome_of(std::current_exception());
    }
}

class trees_test : public test::combine_test {};

TEST_F(trees_test, follow_their_sequential_rules) {
    test::for_each_seed(2000, [this](std::mt19937_64& random) {
        maker make{random};
        const auto root = make.make(1 + below(random, 4));
        world in{clock};
        auto handle = spawn(*simulation, runs(in, *root));
        time_point stop = never;
        if (below(random, 3) != 0) {
            const bool at_once = below(random, 8) == 0;
            stop = clock.now() + (at_once ? 0s : make.delay() / (1 + below(random, 4)));
            while (clock.now() < stop && !handle.ended()) simulation->run_until(stop);
            stop = handle.ended() ? never : clock.now();
            handle.request_stop();
        }
        simulation->drain();
        ASSERT_TRUE(handle.ended());
        SCOPED_TRACE("stop at " + std::to_string(stop.time_since_epoch().count()) + tree_of(*root));
        expect_follows(*root, stop);
        EXPECT_EQ(outcome_of(handle), *root->ended);
    });
}

}  // namespace
}  // namespace fairlead::trees_tests
