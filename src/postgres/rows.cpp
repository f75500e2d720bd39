#include <fairlead/postgres/rows.hpp>

#include <libpq-fe.h>

#include <chrono>

namespace fairlead::postgres {
namespace {

// Of pg_type.dat.
constexpr std::uint32_t type_bytea = 17;
constexpr std::uint32_t type_timestamp = 1114;
constexpr std::uint32_t type_timestamptz = 1184;

const PGresult* of(const void* rows) noexcept { return static_cast<const PGresult*>(rows); }

// Takes a number of at least one digit off the front of a text.
[[nodiscard]] bool take(std::string_view& text, int& into) noexcept {
    const auto [behind, failure] = std::from_chars(text.data(), text.data() + text.size(), into);
    if (failure != std::errc{} || text.front() == '-') return false;
    text.remove_prefix(static_cast<std::size_t>(behind - text.data()));
    return true;
}
[[nodiscard]] bool take(std::string_view& text, char one) noexcept {
    if (!text.starts_with(one)) return false;
    text.remove_prefix(1);
    return true;
}

// "+02", "-03:30", "+00:19:32": seconds.
[[nodiscard]] bool take_zone(std::string_view& text, int& into) noexcept {
    const bool is_west = text.starts_with('-');
    if (!take(text, is_west ? '-' : '+')) return false;
    int hours = 0;
    int minutes = 0;
    int seconds = 0;
    if (!take(text, hours)) return false;
    if (take(text, ':') && !take(text, minutes)) return false;
    if (take(text, ':') && !take(text, seconds)) return false;
    into = (hours * 60 + minutes) * 60 + seconds;
    if (is_west) into = -into;
    return true;
}

}  // namespace

// --- fields --------------------------------------------------------------------------------------

bool field::is_null() const noexcept { return PQgetisnull(of(of_), row_, column_) != 0; }
std::string_view field::text() const noexcept {
    return {PQgetvalue(of(of_), row_, column_),
            static_cast<std::size_t>(PQgetlength(of(of_), row_, column_))};
}
std::string_view field::name() const noexcept { return PQfname(of(of_), column_); }
std::uint32_t field::type() const noexcept { return PQftype(of(of_), column_); }

namespace detail {

bool decode(const field& from, bool& into) noexcept {
    const std::string_view text = from.text();
    into = text == "t";
    return into || text == "f";
}

bool decode(const field& from, std::string& into) {
    into = from.text();
    return !from.is_null();
}

bool decode(const field& from, std::string_view& into) noexcept {
    into = from.text();
    return !from.is_null();
}

bool decode(const field& from, std::vector<std::byte>& into) {
    if (from.is_null() || from.type() != type_bytea) return false;
    std::size_t size = 0;
    const auto* const text = reinterpret_cast<const unsigned char*>(from.text().data());
    const std::unique_ptr<unsigned char, decltype(&PQfreemem)> bytes{PQunescapeBytea(text, &size),
                                                                     &PQfreemem};
    if (bytes == nullptr) return false;
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.get());
    into.assign(first, first + size);
    return true;
}

// "2026-11-25 15:43:51.123456+00", or without the zone.
bool decode(const field& from, timestamp& into) noexcept {
    using namespace std::chrono;
    if (from.type() != type_timestamptz && from.type() != type_timestamp) return false;
    std::string_view text = from.text();
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    const bool has_time = take(text, year) && take(text, '-') && take(text, month) &&
                          take(text, '-') && take(text, day) && take(text, ' ') &&
                          take(text, hour) && take(text, ':') && take(text, minute) &&
                          take(text, ':') && take(text, second);
    if (!has_time) return false;
    int micro = 0;
    if (take(text, '.')) {
        const std::size_t before = text.size();
        if (!take(text, micro)) return false;
        for (std::size_t digits = before - text.size(); digits < 6; ++digits) micro *= 10;
    }
    int zone = 0;
    if (from.type() == type_timestamptz && !take_zone(text, zone)) return false;
    const year_month_day date{std::chrono::year{year}, std::chrono::month(unsigned(month)),
                              std::chrono::day(unsigned(day))};
    // Behind the zone an era may stand, "BC", and the year may be beyond the type.
    if (!text.empty() || year > 32'767 || !date.ok()) return false;
    into = sys_days{date} + hours{hour} + minutes{minute} + seconds{second - zone} +
           microseconds{micro};
    return true;
}

error wrong_type_of(const field& from) {
    std::string text = "the value of column \"" + std::string{from.name()} + "\" ";
    text += from.is_null() ? "is null" : "is no value of the type: " + std::string{from.text()};
    return {errc::wrong_type, std::move(text)};
}

error wrong_columns(std::size_t expected, std::size_t found) {
    return {errc::wrong_type,
            "there are " + std::to_string(found) + " columns, not " + std::to_string(expected)};
}

error wrong_rows(std::size_t found) {
    return {errc::not_one_row, "there are " + std::to_string(found) + " rows, not one"};
}

}  // namespace detail

// --- rows ----------------------------------------------------------------------------------------

std::size_t row::size() const noexcept { return static_cast<std::size_t>(PQnfields(of(of_))); }

result<field> row::at(const std::string& name) const {
    for (std::size_t column = 0; column != size(); ++column) {
        const field each = (*this)[column];
        if (each.name() == name) return each;
    }
    return std::unexpected{error{errc::wrong_type, "there is no column \"" + name + '"'}};
}

std::size_t rows::size() const noexcept {
    return static_cast<std::size_t>(PQntuples(of(of_.get())));
}
std::size_t rows::columns() const noexcept {
    return static_cast<std::size_t>(PQnfields(of(of_.get())));
}
std::string_view rows::name_of(std::size_t column) const noexcept {
    return PQfname(of(of_.get()), static_cast<int>(column));
}

std::uint64_t rows::affected() const noexcept {
    if (of_ == nullptr) return 0;
    const std::string_view text = PQcmdTuples(static_cast<PGresult*>(of_.get()));
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

std::string_view rows::command() const noexcept {
    if (of_ == nullptr) return {};
    return PQcmdStatus(static_cast<PGresult*>(of_.get()));
}

}  // namespace fairlead::postgres
