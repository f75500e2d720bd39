// W3C traceparent: what is read, what is refused, what is written.
#include <fairlead/context/trace.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fairlead::trace_tests {
namespace {

const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(trace_test, reads_and_writes_the_same_text) {
    const auto read = trace::parse(good);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->to_string(), good);
    EXPECT_EQ(read->trace_id_text(), "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(read->trace_id[0], 0x0a);
    EXPECT_EQ(read->span_id[7], 0x31);
    EXPECT_TRUE(read->is_sampled());
}

TEST(trace_test, refuses_what_is_malformed) {
    const auto with = [](std::size_t at, char what) {
        std::string text = good;
        text[at] = what;
        return text;
    };
    EXPECT_FALSE(trace::parse("").has_value());
    EXPECT_FALSE(trace::parse(good.substr(1)).has_value());
    EXPECT_FALSE(trace::parse(good.substr(0, 54)).has_value());
    EXPECT_FALSE(trace::parse(good + " ").has_value());
    EXPECT_FALSE(trace::parse(good + "-00").has_value());  // version 00 has no more
    for (const std::size_t dash : {2U, 35U, 52U}) EXPECT_FALSE(trace::parse(with(dash, '_')));
    for (const std::size_t digit : {0U, 1U, 3U, 34U, 36U, 51U, 53U, 54U}) {
        EXPECT_FALSE(trace::parse(with(digit, 'g')).has_value()) << digit;
        EXPECT_FALSE(trace::parse(with(digit, 'A')).has_value()) << digit;
    }
}

TEST(trace_test, refuses_ids_of_zeros_and_the_forbidden_version) {
    const std::string zeros(32, '0');
    EXPECT_FALSE(trace::parse("00-" + zeros + "-b7ad6b7169203331-01").has_value());
    EXPECT_FALSE(trace::parse(good.substr(0, 36) + zeros.substr(0, 16) + "-01").has_value());
    EXPECT_FALSE(trace::parse("ff" + good.substr(2)).has_value());
}

TEST(trace_test, reads_of_a_later_version_what_it_knows) {
    const auto longer = trace::parse("cc" + good.substr(2, 51) + "ff-what-comes-later");
    ASSERT_TRUE(longer.has_value());
    EXPECT_EQ(longer->flags, 1);
    EXPECT_TRUE(trace::parse("01" + good.substr(2)).has_value());
    EXPECT_FALSE(trace::parse("01" + good.substr(2) + "more").has_value());
}

TEST(trace_test, a_child_has_the_trace_and_a_span_of_its_own) {
    trace_source spans{7};
    const trace caller = *trace::parse(good);
    const trace child = spans.child_of(caller);
    EXPECT_EQ(child.trace_id, caller.trace_id);
    EXPECT_EQ(child.flags, caller.flags);
    EXPECT_NE(child.span_id, caller.span_id);
    EXPECT_TRUE(trace::parse(child.to_string()).has_value());
}

TEST(trace_test, the_same_seed_makes_the_same_ids) {
    trace_source one{42};
    trace_source same{42};
    trace_source different{43};
    const trace first = one.start();
    EXPECT_EQ(first, same.start());
    EXPECT_NE(first, different.start());
    EXPECT_NE(first, one.start());
}

TEST(trace_test, spans_do_not_repeat) {
    trace_source spans;
    const trace root = spans.start();
    std::set<std::string> seen;
    for (int i = 0; i != 10'000; ++i) seen.insert(spans.child_of(root).to_string());
    EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace fairlead::trace_tests
