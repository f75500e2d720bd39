// Addresses: parsing, printing, properties.
#include <fairlead/io/address.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>

#include <string_view>
#include <system_error>

namespace fairlead::io::address_tests {
namespace {

using namespace std::string_view_literals;

TEST(address, is_loopback_without_a_port_by_default) {
    const address any;
    EXPECT_EQ(any.to_string(), "127.0.0.1:0");
    EXPECT_TRUE(any.is_loopback());
}

TEST(address, parses_and_prints) {
    struct example {
        std::string_view host;
        std::string_view printed;
        bool v6;
        bool loopback;
    };
    constexpr example examples[] = {
        {"127.0.0.1", "127.0.0.1:80", false, true},
        {"127.255.0.9", "127.255.0.9:80", false, true},
        {"0.0.0.0", "0.0.0.0:80", false, false},
        {"10.1.2.3", "10.1.2.3:80", false, false},
        {"::1", "[::1]:80", true, true},
        {"::", "[::]:80", true, false},
        {"::ffff:127.0.0.1", "[::ffff:127.0.0.1]:80", true, true},
        {"::ffff:10.0.0.1", "[::ffff:10.0.0.1]:80", true, false},
        {"2001:DB8::0:1", "[2001:db8::1]:80", true, false},
    };
    for (const example& each : examples) {
        const auto parsed = address::parse(each.host, 80);
        ASSERT_TRUE(parsed) << each.host;
        EXPECT_EQ(parsed->to_string(), each.printed);
        EXPECT_EQ(parsed->is_v6(), each.v6) << each.host;
        EXPECT_EQ(parsed->is_loopback(), each.loopback) << each.host;
        EXPECT_EQ(parsed->port(), 80);
    }
}

TEST(address, refuses_what_is_none) {
    for (const std::string_view host :
         {""sv, "localhost"sv, "127.0.0"sv, "127.0.0.1 "sv, "256.0.0.1"sv, "127.0.0.1:80"sv,
          "[::1]"sv, ":::1"sv, "1:2:3:4:5:6:7"sv, "127.0.0.1%lo"sv, "::1%"sv, "%lo"sv,
          "fe80::1%no-such-interface"sv, "127.0.0.1\0junk"sv, "::1\0junk"sv, "fe80::1%1junk"sv}) {
        const auto parsed = address::parse(host, 80);
        ASSERT_FALSE(parsed) << host;
        EXPECT_EQ(parsed.error(), std::errc::invalid_argument);
    }
}

TEST(address, keeps_every_port) {
    for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{65535}}) {
        EXPECT_EQ(address::parse("::1", port)->port(), port);
        EXPECT_EQ(address::loopback(port).port(), port);
    }
}

TEST(address, equals_the_same_host_and_port) {
    EXPECT_EQ(address::parse("192.0.2.1", 80), address::parse("192.0.2.1", 80));
    EXPECT_NE(address::parse("192.0.2.1", 80), address::parse("192.0.2.1", 81));
    EXPECT_NE(address::parse("192.0.2.1", 80), address::parse("192.0.2.2", 80));
    EXPECT_NE(address::parse("192.0.2.1", 80), address::parse("::ffff:192.0.2.1", 80));
    EXPECT_EQ(address::parse("2001:DB8::1", 80), address::parse("2001:db8:0::1", 80));
    EXPECT_NE(address::parse("fe80::1", 80), address::parse("fe80::1%lo", 80));
}

TEST(address, keeps_its_scope) {
    for (const std::string_view host : {"fe80::1%lo"sv, "fe80::1%1"sv}) {
        const auto parsed = address::parse(host, 80);
        ASSERT_TRUE(parsed) << host;
        EXPECT_NE(reinterpret_cast<const sockaddr_in6*>(parsed->data())->sin6_scope_id, 0U);
    }
}

}  // namespace
}  // namespace fairlead::io::address_tests
