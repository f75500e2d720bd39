#include <fairlead/postgres/statement.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::postgres {

std::size_t parameter::print(timestamp when, char (&into)[40]) noexcept {
    using namespace std::chrono;
    const sys_days day = floor<days>(when);
    const year_month_day date{day};
    const hh_mm_ss time{when - day};
    char* at = into;
    const auto put = [&](std::int64_t number, int width) {
        char digits[24];
        const auto count = std::to_chars(digits, digits + sizeof(digits), number).ptr - digits;
        for (auto zeros = width - count; zeros > 0; --zeros) *at++ = '0';
        at = std::copy_n(digits, count, at);
    };
    put(int{date.year()}, 4);
    *at++ = '-';
    put(unsigned{date.month()}, 2);
    *at++ = '-';
    put(unsigned{date.day()}, 2);
    *at++ = ' ';
    put(time.hours().count(), 2);
    *at++ = ':';
    put(time.minutes().count(), 2);
    *at++ = ':';
    put(time.seconds().count(), 2);
    *at++ = '.';
    put(time.subseconds().count(), 6);
    at = std::ranges::copy(std::string_view{"+00"}, at).out;
    return static_cast<std::size_t>(at - into);
}

statement& statement::add(const parameter& one) {
    const std::string_view bytes = one.bytes();
    if (is_too_large_ || bytes.size() > bytes_max - bytes_.size() + values_.size()) {
        is_too_large_ = true;
        return *this;
    }
    values_.push_back({bytes_.size(), bytes.size(), one.is_null(), one.is_binary()});
    bytes_.append(bytes);
    bytes_.push_back('\0');
    return *this;
}

// The library would cut off a text at a zero.
bool statement::is_valid() const noexcept {
    const auto has_zero = [&](const value& each) {
        return !each.is_binary &&
               std::string_view{bytes_}.substr(each.at, each.size).contains('\0');
    };
    return !is_too_large_ && values_.size() <= 65'535 && !sql_.contains('\0') &&
           std::ranges::none_of(values_, has_zero);
}

}  // namespace fairlead::postgres
