#include "savegames/patch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace savegames::patch_tests {
namespace {

TEST(merge_patch, examples_of_rfc_7396) {
    // The test cases of RFC 7396, appendix A: original, patch, result.
    const std::array<std::array<std::string, 3>, 15> cases{{
        {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
        {R"({"a":"b"})", R"({"a":null})", R"({})"},
        {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
        {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
        {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
        {R"({"a":"foo"})", R"(null)", R"(null)"},
        {R"({"a":"foo"})", R"("bar")", R"("bar")"},
        {R"({"e":null})", R"({"a":1})", R"({"a":1,"e":null})"},
        {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
        {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
    }};
    for (const auto& [original, patch, result] : cases) {
        EXPECT_EQ(apply_merge_patch(original, patch, {}).value(), result) << patch;
    }
}

TEST(merge_patch, keeps_numbers) {
    const std::string text = R"({"big":18446744073709551615,"low":-9223372036854775808,"pi":3.25})";
    EXPECT_EQ(apply_merge_patch(text, "{}", {}).value(), text);
}

TEST(merge_patch, tells_whose_fault_it_is) {
    EXPECT_EQ(apply_merge_patch("{}", "{", {}).error().code, error::bad_request);
    EXPECT_EQ(apply_merge_patch("{", "{}", {}).error().code, error::corrupt);
    EXPECT_EQ(apply_merge_patch("{}", "{}x", {}).error().code, error::bad_request);
    EXPECT_EQ(apply_merge_patch("{}", "", {}).error().code, error::bad_request);
    EXPECT_EQ(apply_merge_patch("{}", "{\"a\":\"\xff\"}", {}).error().code, error::bad_request);
    EXPECT_EQ(apply_merge_patch("{}", R"({"a":1e999})", {}).error().code, error::bad_request);
}

TEST(check_json, a_null_character_does_not_end_the_text) {
    using namespace std::string_view_literals;
    EXPECT_EQ(check_json("{}\0junk"sv, {}).error().code, error::bad_request);
    EXPECT_EQ(check_json("{}\0"sv, {}).error().code, error::bad_request);
    EXPECT_EQ(apply_merge_patch("{}", "{}\0x"sv, {}).error().code, error::bad_request);
    EXPECT_EQ(apply_merge_patch("{}\0x"sv, "{}", {}).error().code, error::corrupt);
}

TEST(merge_patch, result_over_the_limit_is_too_large) {
    const json_limits limits{.size_max = 20};
    EXPECT_EQ(
        apply_merge_patch(R"({"a":"0123456789"})", R"({"b":"0123456789"})", limits).error().code,
        error::too_large);
}

TEST(check_json, limits) {
    const json_limits limits{.size_max = 100, .depth_max = 3, .values_max = 10};
    EXPECT_TRUE(check_json("[[[1]]]", limits).has_value());
    EXPECT_EQ(check_json("[[[[1]]]]", limits).error().code, error::bad_request);
    EXPECT_EQ(check_json(R"([{"a":[{}]}])", limits).error().code, error::bad_request);
    EXPECT_EQ(check_json(std::string(101, ' '), limits).error().code, error::too_large);
    EXPECT_TRUE(check_json("[0,0,0,0,0,0,0,0,0]", limits).has_value());
    EXPECT_EQ(check_json("[0,0,0,0,0,0,0,0,0,0]", limits).error().code, error::too_large);
}

TEST(check_json, brackets_in_strings_do_not_nest) {
    EXPECT_TRUE(check_json(R"(["[[[[[[\"[[[[{{{{\\"])", {.depth_max = 1}).has_value());
    EXPECT_EQ(check_json(R"(["\\",[1]])", {.depth_max = 1}).error().code, error::bad_request);
}

TEST(check_json, hostile_depth_does_not_overflow_the_stack) {
    for (const char* opening : {"[", "{\"a\":", "[{\"a\":"}) {
        std::string text;
        while (text.size() < 3'000'000) text += opening;
        EXPECT_EQ(check_json(text, {}).error().code, error::bad_request);
        EXPECT_EQ(apply_merge_patch("{}", text, {}).error().code, error::bad_request);
        EXPECT_EQ(apply_merge_patch(text, "{}", {}).error().code, error::bad_request);
    }
}

TEST(check_json, broken_texts) {
    for (const char* text : {"", " ", "{", "}", "[1,]", "{\"a\"}", "nul", "\"", "\"\\\"", "1 2",
                             "{'a':1}", "[1]]", "\x00"}) {
        EXPECT_EQ(check_json(text, {}).error().code, error::bad_request) << text;
    }
    for (const char* text : {"1", "null", "\"x\"", " {} ", "[]", "-1.5e3"}) {
        EXPECT_TRUE(check_json(text, {}).has_value()) << text;
    }
}

}  // namespace
}  // namespace savegames::patch_tests
