#include "http/date.hpp"

#include <algorithm>

namespace fairlead::http {
namespace {

constexpr std::string_view days = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";

void put_number(char* at, unsigned number, unsigned digits) noexcept {
    for (unsigned left = digits; left != 0; --left) {
        at[left - 1] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
}

}  // namespace

date_text date_of(std::chrono::sys_seconds time) noexcept {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    date_text text;
    std::ranges::copy(std::string_view{"Day, 00 Mon 0000 00:00:00 GMT"}, text.begin());
    std::ranges::copy(days.substr(std::chrono::weekday{day}.c_encoding() * 3, 3), text.begin());
    put_number(&text[5], unsigned{date.day()}, 2);
    std::ranges::copy(months.substr((unsigned{date.month()} - 1) * 3, 3), &text[8]);
    put_number(&text[12], static_cast<unsigned>(int{date.year()}), 4);
    put_number(&text[17], static_cast<unsigned>(clock.hours().count()), 2);
    put_number(&text[20], static_cast<unsigned>(clock.minutes().count()), 2);
    put_number(&text[23], static_cast<unsigned>(clock.seconds().count()), 2);
    return text;
}

std::chrono::sys_seconds time_of_day() noexcept {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace fairlead::http
