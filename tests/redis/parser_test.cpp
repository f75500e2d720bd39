// The parser: each type, each split, each limit; and the writer of commands.
#include "redis/printed.hpp"

#include <fairlead/redis/command.hpp>
#include <fairlead/redis/parser.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::redis::parser_tests {
namespace {

using values = std::vector<value>;

template <class... Items>
value aggregate(kind of, Items&&... items) {
    values all;
    (all.push_back(std::forward<Items>(items)), ...);
    return value{of, std::move(all)};
}
value bulk(std::string text) { return value{kind::bulk_string, std::move(text)}; }
value with(value of, values attributes) {
    of.set_attributes(std::move(attributes));
    return of;
}

struct parsed {
    values all;
    std::error_code failure;
};

// Everything that comes out of the pieces.
parsed parse(std::initializer_list<std::string_view> pieces, parser_limits limits = {}) {
    parser under{limits};
    parsed out;
    for (const std::string_view piece : pieces) {
        under.feed(piece);
        for (;;) {
            auto next = under.next();
            if (!next) {
                out.failure = next.error();
                return out;
            }
            if (!*next) break;
            out.all.push_back(std::move(**next));
        }
    }
    return out;
}

struct row {
    std::string_view bytes;
    values expected;
};

template <class... Items>
values list(Items&&... items) {
    values all;
    (all.push_back(std::forward<Items>(items)), ...);
    return all;
}

std::vector<row> table() {
    std::vector<row> rows;
    const auto add = [&](std::string_view bytes, auto&&... expected) {
        rows.push_back({bytes, list(std::forward<decltype(expected)>(expected)...)});
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    add("+OK\r\n", value{kind::simple_string, "OK"});
    add("+\r\n", value{kind::simple_string, ""});
    add("-ERR no\r\n", value{kind::error, "ERR no"});
    add(":0\r\n", value{std::int64_t{0}});
    add(":+7\r\n", value{std::int64_t{7}});
    add(":-9223372036854775808\r\n", value{std::numeric_limits<std::int64_t>::min()});
    add("$0\r\n\r\n", bulk(""));
    add("$5\r\na\r\nb\n\r\n", bulk("a\r\nb\n"));
    add(std::string_view{"$3\r\n\0\1\xff\r\n", 9}, bulk(std::string{"\0\1\xff", 3}));
    add("$-1\r\n", value{});
    add("*-1\r\n", value{});
    add("_\r\n", value{});
    add("#t\r\n#f\r\n", value{true}, value{false});
    add(",1.5\r\n,-3\r\n,1e3\r\n", value{1.5}, value{-3.0}, value{1000.0});
    add(",inf\r\n,-inf\r\n,nan\r\n", value{infinity}, value{-infinity}, value{std::nan("")});
    add("(3492890328409238509324850943850943825024385\r\n",
        value{kind::big_number, "3492890328409238509324850943850943825024385"});
    add("(-1\r\n", value{kind::big_number, "-1"});
    add("=8\r\ntxt:text\r\n", value{kind::verbatim, "txt:text"});
    add("!5\r\nERR x\r\n", value{kind::error, "ERR x"});
    add("*0\r\n", aggregate(kind::array));
    add("*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
        aggregate(kind::array, value{std::int64_t{1}}, aggregate(kind::array, bulk("x"))));
    add("*2\r\n*0\r\n*-1\r\n", aggregate(kind::array, aggregate(kind::array), value{}));
    add("%1\r\n+k\r\n:1\r\n",
        aggregate(kind::map, value{kind::simple_string, "k"}, value{std::int64_t{1}}));
    add("~2\r\n:1\r\n:2\r\n", aggregate(kind::set, value{std::int64_t{1}}, value{std::int64_t{2}}));
    add(">2\r\n+message\r\n+x\r\n:1\r\n",
        aggregate(kind::push, value{kind::simple_string, "message"},
                  value{kind::simple_string, "x"}),
        value{std::int64_t{1}});
    add("|1\r\n+ttl\r\n:5\r\n$1\r\nv\r\n",
        with(bulk("v"), list(value{kind::simple_string, "ttl"}, value{std::int64_t{5}})));
    add("|0\r\n:1\r\n", value{std::int64_t{1}});
    add("*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n",
        aggregate(kind::array,
                  with(value{std::int64_t{1}},
                       list(value{kind::simple_string, "a"}, value{kind::simple_string, "b"}))));
    add("|1\r\n+a\r\n+b\r\n*1\r\n:1\r\n",
        with(aggregate(kind::array, value{std::int64_t{1}}),
             list(value{kind::simple_string, "a"}, value{kind::simple_string, "b"})));
    add("|1\r\n+a\r\n|1\r\n+c\r\n+d\r\n+b\r\n|1\r\n+e\r\n+f\r\n_\r\n",
        with(value{},
             list(value{kind::simple_string, "a"},
                  with(value{kind::simple_string, "b"},
                       list(value{kind::simple_string, "c"}, value{kind::simple_string, "d"})),
                  value{kind::simple_string, "e"}, value{kind::simple_string, "f"})));
    return rows;
}

TEST(RedisParser, EachTypeAtEachSplit) {
    for (const row& each : table()) {
        SCOPED_TRACE(std::string{each.bytes});
        for (std::size_t at = 0; at <= each.bytes.size(); ++at) {
            for (std::size_t then = at; then <= each.bytes.size(); ++then) {
                const parsed got =
                    parse({each.bytes.substr(0, at), each.bytes.substr(at, then - at),
                           each.bytes.substr(then)});
                EXPECT_FALSE(got.failure);
                ASSERT_EQ(got.all, each.expected) << at << ' ' << then;
            }
        }
    }
}

TEST(RedisParser, APrefixIsNoValueAndNoError) {
    for (const row& each : table()) {
        if (each.expected.size() != 1) continue;
        for (std::size_t size = 0; size != each.bytes.size(); ++size) {
            const parsed got = parse({each.bytes.substr(0, size)});
            EXPECT_FALSE(got.failure) << each.bytes << size;
            EXPECT_TRUE(got.all.empty()) << each.bytes << size;
        }
    }
}

TEST(RedisParser, WhatIsPrintedIsReadAgain) {
    for (const row& each : table()) {
        for (const value& one : each.expected) {
            const parsed got = parse({test::printed(one)});
            ASSERT_EQ(got.all.size(), 1U) << each.bytes;
            EXPECT_EQ(got.all[0], one) << each.bytes;
        }
    }
}

TEST(RedisParser, MalformedBytesAreErrors) {
    for (const std::string_view bytes : {"x\r\n",
                                         "\r\n",
                                         "\n",
                                         "+a\n",
                                         ":\r\n",
                                         ":1x\r\n",
                                         ":+-1\r\n",
                                         ":9223372036854775808\r\n",
                                         ": 1\r\n",
                                         "$-2\r\n",
                                         "$\r\n",
                                         "$1\r\nab\r\n",
                                         "$1\r\na\rx",
                                         "*-2\r\n",
                                         "*x\r\n",
                                         "#x\r\n",
                                         "#\r\n",
                                         "_x\r\n",
                                         ",\r\n",
                                         ",1.5x\r\n",
                                         ",infinity\r\n",
                                         ",nan(1)\r\n",
                                         "(\r\n",
                                         "(1.5\r\n",
                                         "(-\r\n",
                                         "=3\r\ntxt\r\n",
                                         "=4\r\ntext\r\n",
                                         "!-1\r\n",
                                         "%-1\r\n",
                                         "~-1\r\n",
                                         ">0\r\n",
                                         "*1\r\n>1\r\n:1\r\n",
                                         "$?\r\n",
                                         "*?\r\n",
                                         "18446744073709551616\r\n",
                                         "$18446744073709551616\r\n",
                                         "|-1\r\n"}) {
        EXPECT_EQ(parse({bytes}).failure, errc::protocol) << bytes;
    }
}

TEST(RedisParser, AnErrorIsForGood) {
    parser under;
    under.feed("x\r\n:1\r\n");
    EXPECT_EQ(under.next().error(), errc::protocol);
    EXPECT_EQ(under.next().error(), errc::protocol);
}

TEST(RedisParser, WhatIsInFrontOfAnErrorComesOut) {
    const parsed got = parse({":1\r\nx\r\n"});
    EXPECT_EQ(got.all, list(value{std::int64_t{1}}));
    EXPECT_EQ(got.failure, errc::protocol);
}

TEST(RedisParser, EachLimitIsExact) {
    const auto too_large = make_error_code(errc::too_large);
    EXPECT_FALSE(parse({"$4\r\nabcd\r\n"}, {.bulk_max = 4}).failure);
    EXPECT_EQ(parse({"$5\r\n"}, {.bulk_max = 4}).failure, too_large);
    EXPECT_FALSE(parse({"*2\r\n:1\r\n:2\r\n"}, {.items_max = 2}).failure);
    EXPECT_EQ(parse({"*3\r\n"}, {.items_max = 2}).failure, too_large);
    EXPECT_EQ(parse({"%2\r\n"}, {.items_max = 2}).failure, too_large);
    EXPECT_EQ(parse({"%9223372036854775808\r\n"}).failure, too_large);
    EXPECT_FALSE(parse({"*1\r\n*1\r\n:1\r\n"}, {.depth_max = 2}).failure);
    EXPECT_EQ(parse({"*1\r\n*1\r\n*1\r\n"}, {.depth_max = 2}).failure, too_large);
    EXPECT_FALSE(parse({"+abcd\r\n"}, {.line_max = 6}).failure);
    EXPECT_EQ(parse({"+abcde\r\n"}, {.line_max = 6}).failure, too_large);
    EXPECT_EQ(parse({"+abcdefg"}, {.line_max = 6}).failure, too_large);
    EXPECT_FALSE(parse({"*2\r\n:1\r\n:2\r\n"}, {.reply_max = 12}).failure);
    EXPECT_EQ(parse({"*2\r\n:1\r\n:2\r\n"}, {.reply_max = 11}).failure, too_large);
    // The limit is of each reply.
    EXPECT_FALSE(parse({":1\r\n:1\r\n:1\r\n"}, {.reply_max = 4}).failure);
}

TEST(RedisParser, RoomIsUsedAgain) {
    parser under;
    for (int i = 0; i != 1000; ++i) {
        const auto into = under.room(64);
        const std::string_view text = i % 2 == 0 ? "$6\r\nab" : "cdef\r\n";
        std::ranges::copy(std::as_bytes(std::span{text.data(), text.size()}), into.begin());
        under.filled(text.size());
        const auto next = under.next();
        ASSERT_TRUE(next.has_value());
        ASSERT_EQ(next->has_value(), i % 2 == 1);
        EXPECT_TRUE(!*next || (*next)->text() == "abcdef");
    }
}

std::string written(const command& of) {
    std::string out;
    of.write(out);
    return out;
}

TEST(RedisCommand, IsAnArrayOfItsWords) {
    EXPECT_EQ(written({"GET", "key"}), "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
    const std::string zero("a\0b", 3);
    EXPECT_EQ(written({"SET", "k", zero, -5}),
              std::string("*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\0b\r\n$2\r\n-5\r\n", 37));
    command del{"DEL"};
    for (int i = 0; i != 10; ++i) del.add(i);
    EXPECT_EQ(del.words(), 11U);
    const parsed back = parse({written(del)});
    ASSERT_EQ(back.all.size(), 1U);
    EXPECT_EQ(back.all[0].items()[10].text(), "9");
    EXPECT_EQ(written({"PING", ""}), "*2\r\n$4\r\nPING\r\n$0\r\n\r\n");
}

TEST(RedisCommand, KnowsWhatItDoesToAConnection) {
    EXPECT_EQ(command({"get", "k"}).name(), "get");
    EXPECT_TRUE(command({"get", "k"}).is_shareable());
    EXPECT_TRUE(command({"CLIENT", "ID"}).is_shareable());
    for (const char* const name : {"MULTI", "exec", "Watch", "SELECT", "blpop", "WAIT"}) {
        EXPECT_FALSE(command({name}).is_shareable()) << name;
        EXPECT_FALSE(command({name}).breaks_replies()) << name;
    }
    for (const char* const name : {"SUBSCRIBE", "monitor", "HELLO", "quit"}) {
        EXPECT_TRUE(command({name}).breaks_replies()) << name;
        EXPECT_FALSE(command({name}).is_shareable()) << name;
    }
    EXPECT_TRUE(command({"client", "reply", "off"}).breaks_replies());
    EXPECT_TRUE(command({}).breaks_replies());
    EXPECT_TRUE(command({""}).is_shareable());
}

TEST(RedisError, HasTheCodeOfItsFirstWord) {
    EXPECT_EQ(error::of_server("MOVED 3999 127.0.0.1:6381").code(), errc::moved);
    EXPECT_EQ(error::of_server("LOADING Redis is loading").code(), errc::loading);
    EXPECT_EQ(error::of_server("READONLY You can't write").code(), errc::read_only);
    EXPECT_EQ(error::of_server("ERR unknown").code(), errc::server);
    EXPECT_EQ(error::of_server("SOMETHING else").code(), errc::server);
    EXPECT_EQ(error::of_server("SOMETHING else").message(), "SOMETHING else");
    EXPECT_TRUE(error::of_server("OOM").is_of_server());
    EXPECT_FALSE(error{errc::closed}.is_of_server());
    EXPECT_STREQ(category().name(), "redis");
    for (int each = 1; each <= static_cast<int>(errc::no_protocol); ++each) {
        EXPECT_NE(category().message(each), "unknown error of Redis") << each;
    }
}

}  // namespace
}  // namespace fairlead::redis::parser_tests
