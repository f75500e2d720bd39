#include <fairlead/http/errc.hpp>
#include <fairlead/http/fields.hpp>
#include <fairlead/http/print.hpp>

#include <gtest/gtest.h>

#include "http/expect_found.hpp"

namespace fairlead::http::fields_tests {
namespace {

TEST(Fields, AreKeptInTheirOrder) {
    field_list list;
    EXPECT_TRUE(list.empty());
    list.add("A", "1").add("B", "").add("a", "3");
    const std::vector<field> all{list.view().begin(), list.view().end()};
    EXPECT_EQ(all, (std::vector<field>{{"A", "1"}, {"B", ""}, {"a", "3"}}));
    EXPECT_EQ(list.find("b"), "");
    EXPECT_EQ(list.view().count("A"), 2U);
    list.set("A", "4");
    EXPECT_EQ(list.view().lines(), "B: \r\nA: 4\r\n");
    EXPECT_EQ(list.remove("c"), 0U);
    EXPECT_EQ(list.remove("b"), 1U);
    EXPECT_EQ(list.view().lines(), "A: 4\r\n");
    list.clear();
    EXPECT_EQ(list.view().begin(), list.view().end());
}

TEST(Fields, NothingCanBeAddedByText) {
    field_list list;
    for (const std::string_view name : {"", " ", "A B", "A:", "A\r\nB", "\xc3\xa4"}) {
        EXPECT_THROW(list.add(name, "x"), std::invalid_argument) << name;
    }
    for (const std::string_view value :
         std::initializer_list<std::string_view>{"a\r\nSet-Cookie: x", "a\n", "\r", "\x01", " a",
                                                 "a ", "\ta", std::string_view{"\0", 1}}) {
        EXPECT_THROW(list.add("A", value), std::invalid_argument) << value;
        EXPECT_THROW(list.set("A", value), std::invalid_argument) << value;
    }
    EXPECT_TRUE(list.empty());
}

TEST(Fields, ASetThatFailsRemovesNothing) {
    field_list list;
    list.add("A", "1");
    EXPECT_THROW(list.set("A", "\n"), std::invalid_argument);
    EXPECT_EQ(list.find("A"), "1");
}

TEST(Print, AHeadIsParsedAsItWasPrinted) {
    std::string text;
    print_request_line(text, "PUT", "/a?b");
    print_field(text, "Host", "a:1");
    print_fields(text, field_list{}.add("X", "y z").view());
    print_framing(text, {framing::kind::chunked, 0});
    print_end(text);
    print_chunk(text, std::string(300, 'x'));
    print_chunk(text, "");
    print_chunk(text, "y");
    text += last_chunk;
    const seen message = one_request(text);
    EXPECT_EQ(message.first, "PUT /a?b");
    EXPECT_EQ(message.lines, "Host: a:1\r\nX: y z\r\nTransfer-Encoding: chunked\r\n");
    EXPECT_EQ(message.body, std::string(300, 'x').append("y"));

    std::string answer;
    print_status_line(answer, 404);
    print_framing(answer, {framing::kind::length, 5});
    print_end(answer);
    EXPECT_EQ(answer, "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n");
    answer.clear();
    print_status_line(answer, 299);
    print_framing(answer, {});
    EXPECT_EQ(answer, "HTTP/1.1 299 \r\n");
}

TEST(Print, WhatCannotBeSentIsTold) {
    EXPECT_TRUE(is_method("PURGE"));
    EXPECT_FALSE(is_method(""));
    EXPECT_FALSE(is_method("GET /"));
    EXPECT_TRUE(is_target("GET", "/a"));
    EXPECT_FALSE(is_target("GET", "/a b"));
    EXPECT_FALSE(is_target("GET", "/a\r\nX: y"));
    EXPECT_FALSE(is_target("GET", "*"));
    EXPECT_TRUE(is_target("OPTIONS", "*"));
}

TEST(Errors, EachHasATextAndAStatus) {
    for (int value = 1; value <= static_cast<int>(errc::bad_message); ++value) {
        const std::error_code code{value, category()};
        EXPECT_NE(code.message(), "an unknown error of HTTP") << value;
        EXPECT_GE(status_for(code), 400) << value;
        EXPECT_LT(status_for(code), 600) << value;
    }
    EXPECT_STREQ(category().name(), "http");
    EXPECT_EQ(status_for(std::make_error_code(std::errc::timed_out)), 408);
    EXPECT_EQ(status_for(std::make_error_code(std::errc::connection_reset)), 500);
}

// Values are looked at eight bytes at a time.
TEST(FieldList, EachByteOfAValueIsLookedAt) {
    for (std::size_t size = 3; size != 20; ++size) {
        for (std::size_t at = 1; at != size - 1; ++at) {
            for (unsigned byte = 0; byte != 256; ++byte) {
                std::string value(size, 'x');
                value[at] = static_cast<char>(byte);
                value[at - 1] = at == 1 ? 'x' : '\t';
                const bool allowed = byte == '\t' || (byte >= 32 && byte != 127);
                EXPECT_EQ(field_list::is_value(value), allowed) << size << ' ' << at << ' ' << byte;
            }
        }
    }
}

}  // namespace
}  // namespace fairlead::http::fields_tests
