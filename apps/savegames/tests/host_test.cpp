#include "savegames/host.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "savegames/admission.hpp"

namespace savegames::host_tests {
namespace {

TEST(HostField, HasAHostAndPerhapsAPort) {
    const struct {
        std::string_view text, host, port;
        bool in_brackets;
    } cases[] = {{"", "", "", false},
                 {"localhost", "localhost", "", false},
                 {"localhost:", "localhost", "", false},
                 {"a-b_c.example:8080", "a-b_c.example", "8080", false},
                 {"127.0.0.1:1", "127.0.0.1", "1", false},
                 {"%41:1", "%41", "1", false},
                 {":80", "", "80", false},
                 {"[::1]", "::1", "", true},
                 {"[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1", "80", true},
                 {"[vF.a:b]", "vF.a:b", "", true}};
    for (const auto& each : cases) {
        const auto found = parse_host(each.text);
        ASSERT_TRUE(found.has_value()) << each.text;
        EXPECT_EQ(found->host, each.host) << each.text;
        EXPECT_EQ(found->port, each.port) << each.text;
        EXPECT_EQ(found->in_brackets, each.in_brackets) << each.text;
    }
}

TEST(HostField, IsNothingElse) {
    for (const std::string_view text : {"[",
                                        "[]",
                                        "[::1",
                                        "::1",
                                        "[::1].evil",
                                        "[::1]80",
                                        "[::1]:x",
                                        "[::1]:80:80",
                                        "[1.2.3.4]",
                                        "[localhost]",
                                        "[::1%25lo]",
                                        "[::1%lo]",
                                        "[::g]",
                                        "[v.x]",
                                        "[v1.]",
                                        "[v1x]",
                                        "[vg.x]",
                                        "[v1.[]",
                                        "localhost:80@evil",
                                        "user@localhost",
                                        "a/b",
                                        "a?b",
                                        "a#b",
                                        "a\\b",
                                        "a b",
                                        " a",
                                        "a:b",
                                        "a:1:2",
                                        "%",
                                        "%4",
                                        "%4g",
                                        "\"a\"",
                                        "<a>",
                                        "a\x80",
                                        "]"}) {
        EXPECT_FALSE(parse_host(text).has_value()) << text;
        EXPECT_FALSE(names_loopback(text)) << text;
    }
}

TEST(HostField, NamesThisMachineOnlyByALoopbackAddress) {
    for (const std::string_view text : {"localhost", "LocalHost:1", "127.0.0.1", "127.9.9.9:80",
                                        "[::1]", "[::1]:80", "[0:0::1]"}) {
        EXPECT_TRUE(names_loopback(text)) << text;
    }
    for (const std::string_view text : {"", "localhost.evil", "127.0.0.1.evil", "[::2]",
                                        "[v1.localhost]", "%6cocalhost", "10.0.0.1", "127.1"}) {
        EXPECT_FALSE(names_loopback(text)) << text;
    }
}

}  // namespace
}  // namespace savegames::host_tests
