// Results of libpq as ours.
#pragma once

#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/rows.hpp>

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>

namespace fairlead::postgres::detail {

struct clear_result {
    void operator()(PGresult* of) const noexcept { PQclear(of); }
};
using answer = std::unique_ptr<PGresult, clear_result>;

/// The rows that an answer is.
[[nodiscard]] rows rows_of(answer got);

/// The error that an answer is.
[[nodiscard]] error error_of(const PGresult& said);

/// Whether the server ends the connection with an error, or the library has lost it.
[[nodiscard]] bool ends_connection(const PGresult& said) noexcept;

/// The error of a connection that has failed to begin, by its text, which is "verbose": there is no
/// result that has the SQLSTATE.
[[nodiscard]] error error_of_connect(std::string_view text);

/// Whether an error of an attempt to connect may go away by itself.
[[nodiscard]] bool may_pass(const error& why) noexcept;

/// A text of the library without the end of its line.
[[nodiscard]] std::string trimmed(std::string_view text);

}  // namespace fairlead::postgres::detail
