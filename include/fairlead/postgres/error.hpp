// What goes wrong with PostgreSQL: an error code, what the server has said, and whether the
// statement may have been executed.
//
//     const auto made = co_await db.query({"insert into users values ($1)", name}, deadline);
//     if (!made && made.error().code() == postgres::errc::unique_violation) ...
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace fairlead::postgres {

/// Errors beside those of the system. A wait ends with `std::errc::timed_out` at its deadline, with
/// `std::errc::operation_canceled` when its task is asked to stop, and with
/// `std::errc::stream_timeout` at a deadline of the context, as the waits for a stream.
enum class errc : std::uint8_t {
    // Of this end.
    connection_lost = 1,  ///< the connection has ended before the answer
    cannot_connect,       ///< no connection could be made: the message says why
    /// Of a commit: the connection has ended before the answer, so the transaction may be committed
    /// or rolled back.
    outcome_unknown,
    rolled_back,       ///< of a commit: the transaction had failed before, and nothing was done
    transaction_over,  ///< the transaction has ended, or a statement of it was given up
    queue_full,        ///< `pool_options::queue_max` requests wait already
    closed,            ///< the pool was closed
    not_shared,        ///< the statement would disturb the other users of a connection
    messages_lost,     ///< of a subscription: messages were lost; it goes on
    wrong_type,        ///< a value is no value of the type that was asked for
    not_one_row,       ///< there are more rows than one, or none
    /// A text has a zero byte, or there are more than 65,535 parameters, or more bytes than
    /// `statement::bytes_max`.
    invalid_parameter,
    protocol,     ///< the server has answered out of order
    stream_open,  ///< a stream or a copy of the transaction has not ended
    // Of the server, by SQLSTATE.
    server,                  ///< an error without a code of its own here
    syntax_error,            ///< 42601
    undefined_table,         ///< 42P01
    undefined_column,        ///< 42703
    duplicate_table,         ///< 42P07
    insufficient_privilege,  ///< 42501
    not_null_violation,      ///< 23502
    foreign_key_violation,   ///< 23503
    unique_violation,        ///< 23505
    check_violation,         ///< 23514
    exclusion_violation,     ///< 23P01
    invalid_text,            ///< 22P02: a parameter is no value of its type
    read_only_transaction,   ///< 25006
    in_failed_transaction,   ///< 25P02: an earlier statement of the transaction has failed
    serialization_failure,   ///< 40001: the same transaction may succeed when it is done again
    deadlock_detected,       ///< 40P01: the same
    lock_not_available,      ///< 55P03
    query_canceled,          ///< 57014: by `statement_timeout`, or by a cancel
    admin_shutdown,          ///< 57P01: the server ends, or the connection was terminated
    crash_shutdown,          ///< 57P02
    cannot_connect_now,      ///< 57P03: the server starts or ends
    too_many_connections,    ///< 53300
    disk_full,               ///< 53100
    authentication,          ///< 28000, 28P01: the user or the password is wrong
    unknown_database,        ///< 3D000
};

/// The category of `errc`, named "postgres".
[[nodiscard]] const std::error_category& category() noexcept;
/// For `std::error_code`, which finds it.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), category()};
}

/// What the server says of an error. Fields that it does not say are empty.
struct server_report {
    std::string severity{};    ///< "ERROR", "FATAL" or "PANIC"
    std::string sqlstate{};    ///< five characters
    std::string message{};     ///< one line
    std::string detail{};      ///< more of it
    std::string hint{};        ///< what to do
    std::string schema{};      ///< of the table
    std::string table{};       ///< the table that is concerned
    std::string column{};      ///< the column that is concerned
    std::string constraint{};  ///< the constraint that was violated
    std::string context{};     ///< where in functions of the server
    std::string position{};    ///< where in the statement, in characters from 1
};

/// A failure. Copies and moves without allocating.
class error {
public:
    /// `was_sent`: bytes of the statement may have left.
    error(std::error_code code, bool was_sent = false) noexcept
        : code_{code}, was_sent_{was_sent} {}
    /// The same with an error of this library.
    error(errc code, bool was_sent = false) noexcept : error{make_error_code(code), was_sent} {}
    /// The same with a text. Throws `std::bad_alloc`.
    error(errc code, std::string text, bool was_sent = false);
    /// An error of the server. Throws `std::bad_alloc`.
    [[nodiscard]] static error of_server(server_report said);

    /// The same failure, of a statement of which nothing was sent.
    [[nodiscard]] error as_unsent() const noexcept {
        error same = *this;
        same.was_sent_ = false;
        return same;
    }
    /// The same failure with another code.
    [[nodiscard]] error as(errc code, bool was_sent) const noexcept {
        error same = *this;
        same.code_ = make_error_code(code);
        same.was_sent_ = was_sent;
        return same;
    }

    /// What has happened.
    [[nodiscard]] std::error_code code() const noexcept { return code_; }
    /// Whether bytes of the statement may have left, so that the server may have executed it.
    /// False: it was not executed, and can be sent again without harm. After an error of the server
    /// nothing of the statement was kept.
    [[nodiscard]] bool was_sent() const noexcept { return was_sent_; }
    /// Whether the server has answered with an error.
    [[nodiscard]] bool is_of_server() const noexcept {
        return code_.category() == category() && code_.value() >= static_cast<int>(errc::server);
    }
    /// Whether the same transaction may succeed when it is done again from its beginning.
    [[nodiscard]] bool is_retryable() const noexcept {
        return code_ == make_error_code(errc::serialization_failure) ||
               code_ == make_error_code(errc::deadlock_detected);
    }
    /// What the server has said; its fields are empty if the error is not of the server. Valid
    /// while a copy of the error exists.
    [[nodiscard]] const server_report& report() const noexcept;
    /// The SQLSTATE; empty if the error is not of the server.
    [[nodiscard]] std::string_view sqlstate() const noexcept { return report().sqlstate; }
    /// The constraint that was violated; empty: none.
    [[nodiscard]] std::string_view constraint() const noexcept { return report().constraint; }
    /// The text of the server; else that of the code. Throws `std::bad_alloc`.
    [[nodiscard]] std::string message() const {
        return report_ == nullptr ? code_.message() : report_->message;
    }

private:
    std::error_code code_;
    bool was_sent_ = false;
    std::shared_ptr<const server_report> report_;  // null: none
};

/// What a request gives.
template <class T>
using result = std::expected<T, error>;

}  // namespace fairlead::postgres

/// Lets an `errc` be compared with `std::error_code`.
template <>
struct std::is_error_code_enum<fairlead::postgres::errc> : std::true_type {};
