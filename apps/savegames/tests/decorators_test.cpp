// Tests of latency_store and flaky_store.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "savegames/flaky_store.hpp"
#include "savegames/latency_store.hpp"
#include "savegames/tests/memory_store.hpp"
#include "savegames/tests/support.hpp"

namespace savegames::decorators_tests {
namespace {

using namespace std::chrono_literals;

TEST(latency, is_parsed) {
    EXPECT_EQ(parse_latency("5ms").value().median, 5ms);
    EXPECT_EQ(parse_latency("5ms").value().sigma, 0);
    EXPECT_EQ(parse_latency("800us").value().median, 800us);
    EXPECT_EQ(parse_latency("0.2s").value().median, 200ms);
    EXPECT_EQ(parse_latency("0").value().median, 0ns);
    EXPECT_EQ(parse_latency("2.5ms,0.5").value().median, 2500us);
    EXPECT_EQ(parse_latency("2.5ms,0.5").value().sigma, 0.5);
    for (const char* text : {"", "5", "ms", "-5ms", "5 ms", "5ms,", "5ms,x", "5ms,4", "5ms,0.5,1",
                             "nan", "infs", "61s", "5h", "1e400s"}) {
        EXPECT_FALSE(parse_latency(text).has_value()) << text;
    }
}

TEST(latency_store, draws_a_log_normal_distribution) {
    memory_store inner;
    latency_store store{inner, inner, {.median = 10ms, .sigma = 0.5}, 1};
    std::vector<std::chrono::nanoseconds> drawn(10'001);
    std::ranges::generate(drawn, [&] { return store.draw(); });
    std::ranges::sort(drawn);
    const auto near = [](std::chrono::nanoseconds got, double wanted_ms) {
        EXPECT_NEAR(static_cast<double>(got.count()) / 1e6, wanted_ms, 0.08 * wanted_ms);
    };
    near(drawn[5000], 10);
    near(drawn[9900], 10 * std::exp(0.5 * 2.326));
    near(drawn[100], 10 * std::exp(-0.5 * 2.326));
}

TEST(latency_store, answers_late_and_on_another_thread) {
    memory_store inner;
    latency_store store{inner, inner, {.median = 5ms}};
    const time_point start = clock::now();
    EXPECT_EQ(put(store, key_of("p"), packed("1")), 1U);
    EXPECT_GE(clock::now() - start, 5ms);
    EXPECT_TRUE(acquire(store, key_of("p"), owner_token{1}).value().granted);
    EXPECT_EQ(get(store, key_of("p")).value().version, 1U);
    EXPECT_TRUE(erase(store, key_of("p")).has_value());
    EXPECT_EQ(erase(store, key_of("p")).error(), error::not_found);
    EXPECT_TRUE(release(store, key_of("p"), owner_token{1}).has_value());
    EXPECT_GE(clock::now() - start, 30ms);
    std::promise<std::thread::id> where;
    store.get(key_of("p"), time_point::max(),
              [&](auto) { where.set_value(std::this_thread::get_id()); });
    EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
}

TEST(latency_store, does_not_answer_one_after_the_other) {
    memory_store inner;
    latency_store store{inner, inner, {.median = 20ms}};
    std::latch all{1000};
    const time_point start = clock::now();
    for (int i = 0; i < 1000; ++i)
        store.get(key_of("p"), time_point::max(), [&](auto) { all.count_down(); });
    all.wait();
    EXPECT_LT(clock::now() - start, 10s);  // it would be 20 s if one waited for the other
}

TEST(latency_store, ends_only_when_everything_was_answered) {
    memory_store inner;
    flaky_store slow{inner, inner, [](auto, auto&) { return fault{fault::kind::hold}; }};
    int answered = 0;
    auto store = std::make_unique<latency_store>(slow, slow, latency_profile{.median = 1h});
    for (int i = 0; i < 3; ++i)
        store->get(key_of("p"), time_point::max(), [&](auto) { ++answered; });
    slow.wait_held(3);
    std::thread ender{[&] { store.reset(); }};
    slow.release_held();
    ender.join();
    EXPECT_EQ(answered, 3);
}

TEST(flaky_store, does_as_the_plan_says) {
    memory_store inner;
    std::vector<fault::kind> plan{fault::kind::none, fault::kind::fail_before,
                                  fault::kind::fail_after, fault::kind::hold};
    std::size_t next = 0;
    flaky_store store{inner, inner, [&](store_operation operation, const profile_key& key) {
                          EXPECT_EQ(operation, store_operation::put);
                          EXPECT_EQ(key, key_of("p"));
                          return fault{plan.at(next++), error::overloaded};
                      }};
    EXPECT_EQ(put(store, key_of("p"), packed("1")), 1U);
    EXPECT_EQ(put(store, key_of("p"), packed("2")).error(), error::overloaded);
    EXPECT_EQ(inner.stored(key_of("p")).value().version, 1U);
    EXPECT_EQ(put(store, key_of("p"), packed("3")).error(), error::overloaded);
    EXPECT_EQ(inner.stored(key_of("p")).value().version, 2U);
    std::expected<std::uint64_t, error> held = 0;
    store.put(key_of("p"), {}, packed("4"), [&](auto version) { held = version; });
    store.wait_held(1);
    EXPECT_EQ(inner.stored(key_of("p")).value().version, 3U);
    EXPECT_EQ(held, 0U);
    EXPECT_EQ(store.release_held(), 1U);
    EXPECT_EQ(held, 3U);
    store.set_plan({});
    EXPECT_EQ(put(store, key_of("p"), packed("5")), 4U);
}

}  // namespace
}  // namespace savegames::decorators_tests
