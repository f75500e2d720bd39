// Values of Redis as bytes, for tests: what the parser reads.
#pragma once

#include <fairlead/redis/value.hpp>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace fairlead::redis::test {

inline std::string bulk(char type, std::string_view bytes) {
    return type + std::to_string(bytes.size()) + "\r\n" + std::string{bytes} + "\r\n";
}

inline std::string printed(const value& of);

inline std::string items_printed(char type, std::size_t count, const std::vector<value>& items) {
    std::string all = type + std::to_string(count) + "\r\n";
    for (const value& each : items) all += printed(each);
    return all;
}

inline std::string real_printed(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    char digits[64];
    return {digits, std::to_chars(digits, digits + sizeof(digits), number).ptr};
}

/// As RESP3, with bulk errors.
inline std::string printed(const value& of) {
    std::string before;
    if (!of.attributes().empty()) {
        before = items_printed('|', of.attributes().size() / 2, of.attributes());
    }
    const std::string text{of.text()};
    switch (of.type()) {
        case kind::null:
            return before + "_\r\n";
        case kind::simple_string:
            return before + "+" + text + "\r\n";
        case kind::error:
            return before + bulk('!', text);
        case kind::integer:
            return before + ":" + std::to_string(of.integer()) + "\r\n";
        case kind::bulk_string:
            return before + bulk('$', text);
        case kind::array:
            return before + items_printed('*', of.items().size(), of.items());
        case kind::boolean:
            return before + (of.integer() != 0 ? "#t\r\n" : "#f\r\n");
        case kind::double_:
            return before + "," + real_printed(of.real()) + "\r\n";
        case kind::big_number:
            return before + "(" + text + "\r\n";
        case kind::verbatim:
            return before + bulk('=', std::string{of.format()} + ":" + text);
        case kind::map:
            return before + items_printed('%', of.items().size() / 2, of.items());
        case kind::set:
            return before + items_printed('~', of.items().size(), of.items());
        case kind::push:
            return before + items_printed('>', of.items().size(), of.items());
    }
    return {};
}

}  // namespace fairlead::redis::test
