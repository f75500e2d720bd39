#include "postgres/answer.hpp"

#include <fairlead/detail/sync/recycler.hpp>

#include <algorithm>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

[[nodiscard]] std::string_view field_of(const PGresult& said, int which) noexcept {
    const char* const text = PQresultErrorField(&said, which);
    return text == nullptr ? std::string_view{} : text;
}

[[nodiscard]] bool is_sqlstate(std::string_view text) noexcept {
    return text.size() == 5 && std::ranges::all_of(text, [](char each) {
               return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z');
           });
}

}  // namespace

rows rows_of(answer got) {
    const auto clear = [](void* gone) { PQclear(static_cast<PGresult*>(gone)); };
    return rows{{got.release(), clear, sync::recycling_allocator<char>{}}};
}

error error_of(const PGresult& said) {
    const auto field = [&](int which) { return std::string{field_of(said, which)}; };
    if (field_of(said, PG_DIAG_SQLSTATE).empty()) {
        return {errc::connection_lost, trimmed(PQresultErrorMessage(&said)), true};
    }
    return error::of_server({.severity = field(PG_DIAG_SEVERITY_NONLOCALIZED),
                             .sqlstate = field(PG_DIAG_SQLSTATE),
                             .message = field(PG_DIAG_MESSAGE_PRIMARY),
                             .detail = field(PG_DIAG_MESSAGE_DETAIL),
                             .hint = field(PG_DIAG_MESSAGE_HINT),
                             .schema = field(PG_DIAG_SCHEMA_NAME),
                             .table = field(PG_DIAG_TABLE_NAME),
                             .column = field(PG_DIAG_COLUMN_NAME),
                             .constraint = field(PG_DIAG_CONSTRAINT_NAME),
                             .context = field(PG_DIAG_CONTEXT),
                             .position = field(PG_DIAG_STATEMENT_POSITION)});
}

bool ends_connection(const PGresult& said) noexcept {
    const std::string_view severity = field_of(said, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity == "FATAL" || severity == "PANIC" || field_of(said, PG_DIAG_SQLSTATE).empty();
}

// ... failed: FATAL:  28P01: password authentication failed for user "x"
error error_of_connect(std::string_view text) {
    constexpr std::string_view before = ":  ";
    // The last attempt stands last, if there are several hosts.
    for (std::size_t at = text.rfind(before); at != text.npos;
         at = at == 0 ? text.npos : text.rfind(before, at - 1)) {
        const std::string_view rest = text.substr(at + before.size());
        if (!is_sqlstate(rest.substr(0, 5)) || !rest.substr(5).starts_with(": ")) continue;
        const std::string_view message = rest.substr(7);
        return error::of_server({.severity = "FATAL",
                                 .sqlstate = std::string{rest.substr(0, 5)},
                                 .message = std::string{message.substr(0, message.find('\n'))}})
            .as_unsent();
    }
    return {errc::cannot_connect, trimmed(text)};
}

bool may_pass(const error& why) noexcept {
    return why.code() != errc::authentication && why.code() != errc::unknown_database &&
           why.code() != errc::insufficient_privilege;
}

std::string trimmed(std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \n");
    return std::string{text.substr(0, last == text.npos ? 0 : last + 1)};
}

}  // namespace fairlead::postgres::detail
