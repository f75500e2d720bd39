// The order of addresses: the examples of RFC 6724, section 10.2, and IPv4.
#include <fairlead/dns/order.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::dns::order_tests {
namespace {

io::address at(const char* host) { return io::address::parse(host, 0).value(); }

struct candidate {
    const char* to;
    const char* from;  // null: there is no way
};

// The destinations in the order that is sorted, each without its port.
std::vector<std::string> sorted(const std::vector<candidate>& all) {
    std::vector<destination> given;
    for (const candidate& each : all) {
        std::optional<io::address> from;
        if (each.from != nullptr) from = at(each.from);
        given.push_back({at(each.to), from});
    }
    sort(given);
    std::vector<std::string> texts;
    for (const destination& each : given) {
        for (const candidate& of : all) {
            if (at(of.to) == each.to) {
                texts.emplace_back(of.to);
                break;
            }
        }
    }
    return texts;
}

using order = std::vector<std::string>;

TEST(dns_order, what_cannot_be_reached_goes_last) {
    EXPECT_EQ(sorted({{"2001:db8::1", nullptr}, {"192.0.2.1", "192.0.2.9"}}),
              (order{"192.0.2.1", "2001:db8::1"}));
    EXPECT_EQ(sorted({{"2001:db8::1", "2001:db8::9"}, {"192.0.2.1", nullptr}}),
              (order{"2001:db8::1", "192.0.2.1"}));
}

TEST(dns_order, the_scope_of_the_source_matches) {
    // A global IPv6 address from a link-local source: IPv4 goes first.
    EXPECT_EQ(sorted({{"2001:db8:1::1", "fe80::1"}, {"198.51.100.121", "198.51.100.117"}}),
              (order{"198.51.100.121", "2001:db8:1::1"}));
    EXPECT_EQ(sorted({{"198.51.100.121", "169.254.13.78"}, {"2001:db8:1::1", "2001:db8:1::2"}}),
              (order{"2001:db8:1::1", "198.51.100.121"}));
}

TEST(dns_order, ipv6_goes_before_ipv4) {
    EXPECT_EQ(sorted({{"10.1.2.3", "10.1.2.4"}, {"2001:db8:1::1", "2001:db8:1::2"}}),
              (order{"2001:db8:1::1", "10.1.2.3"}));
}

TEST(dns_order, the_smaller_scope_goes_first) {
    EXPECT_EQ(sorted({{"2001:db8:1::1", "2001:db8:1::2"}, {"fe80::1", "fe80::2"}}),
              (order{"fe80::1", "2001:db8:1::1"}));
}

TEST(dns_order, the_label_of_the_source_matches) {
    // 6to4 to a native address: the labels differ.
    EXPECT_EQ(sorted({{"2001:db8:1::1", "2002:c633:6401::2"},
                      {"2002:c633:6401::1", "2002:c633:6401::2"}}),
              (order{"2002:c633:6401::1", "2001:db8:1::1"}));
    // A unique local address from a global one.
    EXPECT_EQ(sorted({{"fd00::1", "2001:db8::9"}, {"192.0.2.1", "192.0.2.9"}}),
              (order{"192.0.2.1", "fd00::1"}));
}

TEST(dns_order, the_higher_precedence_goes_first) {
    EXPECT_EQ(
        sorted({{"2002:c633:6401::1", "2002:c633:6401::2"}, {"2001:db8:1::1", "2001:db8:1::2"}}),
        (order{"2001:db8:1::1", "2002:c633:6401::1"}));
    EXPECT_EQ(sorted({{"fd00::1", "fd00::2"}, {"192.0.2.1", "192.0.2.9"}}),
              (order{"192.0.2.1", "fd00::1"}));
    EXPECT_EQ(sorted({{"127.0.0.1", "127.0.0.1"}, {"::1", "::1"}}), (order{"::1", "127.0.0.1"}));
}

TEST(dns_order, the_longer_common_prefix_goes_first_for_ipv6) {
    EXPECT_EQ(sorted({{"2001:db8:3ffe::1", "2001:db8:1::2"}, {"2001:db8:1::1", "2001:db8:1::2"}}),
              (order{"2001:db8:1::1", "2001:db8:3ffe::1"}));
}

TEST(dns_order, equal_ones_keep_their_order) {
    EXPECT_EQ(sorted({{"198.51.100.7", "192.0.2.9"}, {"192.0.2.8", "192.0.2.9"}}),
              (order{"198.51.100.7", "192.0.2.8"}));
    EXPECT_EQ(sorted({{"192.0.2.8", "192.0.2.9"}, {"198.51.100.7", "192.0.2.9"}}),
              (order{"192.0.2.8", "198.51.100.7"}));
}

// On any machine 127.0.0.1 can be reached, and a multicast scope without an interface cannot.
TEST(dns_order, the_system_says_what_can_be_reached) {
    std::vector<io::address> all{at("fe80::1"), at("127.0.0.1")};
    sort_by_system(all);
    EXPECT_EQ(all.front(), at("127.0.0.1"));
    EXPECT_EQ(all.size(), 2U);
}

}  // namespace
}  // namespace fairlead::dns::order_tests
