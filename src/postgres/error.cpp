#include <fairlead/postgres/error.hpp>

#include <array>

namespace fairlead::postgres {
namespace {

struct described {
    errc code;
    std::string_view sqlstate;  // of the server; empty: of this end
    std::string_view text;
};

constexpr std::array table{
    described{errc::connection_lost, "", "the connection has ended"},
    described{errc::cannot_connect, "", "no connection can be made"},
    described{errc::outcome_unknown, "", "the connection has ended during a commit"},
    described{errc::rolled_back, "", "the transaction had failed and was rolled back"},
    described{errc::transaction_over, "", "the transaction has ended"},
    described{errc::queue_full, "", "too many requests wait"},
    described{errc::closed, "", "the pool was closed"},
    described{errc::not_shared, "", "the statement would change a connection of other tasks"},
    described{errc::messages_lost, "", "notifications were lost"},
    described{errc::wrong_type, "", "a value has another type than expected"},
    described{errc::not_one_row, "", "there is not exactly one row"},
    described{errc::invalid_parameter, "", "the parameters cannot be sent"},
    described{errc::protocol, "", "the server has answered out of order"},
    described{errc::stream_open, "", "a stream or a copy of the transaction has not ended"},
    described{errc::server, "", "the server has failed"},
    described{errc::syntax_error, "42601", "syntax error"},
    described{errc::undefined_table, "42P01", "there is no such table"},
    described{errc::undefined_column, "42703", "there is no such column"},
    described{errc::duplicate_table, "42P07", "there is such a table already"},
    described{errc::insufficient_privilege, "42501", "the user may not do it"},
    described{errc::not_null_violation, "23502", "a value must not be null"},
    described{errc::foreign_key_violation, "23503", "a foreign key is violated"},
    described{errc::unique_violation, "23505", "a key exists already"},
    described{errc::check_violation, "23514", "a check constraint is violated"},
    described{errc::exclusion_violation, "23P01", "an exclusion constraint is violated"},
    described{errc::invalid_text, "22P02", "a text is no value of its type"},
    described{errc::read_only_transaction, "25006", "the transaction is read-only"},
    described{errc::in_failed_transaction, "25P02", "the transaction has failed before"},
    described{errc::serialization_failure, "40001", "concurrent transactions exclude each other"},
    described{errc::deadlock_detected, "40P01", "transactions wait for each other"},
    described{errc::lock_not_available, "55P03", "a lock is not available"},
    described{errc::query_canceled, "57014", "the statement was canceled"},
    described{errc::admin_shutdown, "57P01", "the server ends the connection"},
    described{errc::crash_shutdown, "57P02", "the server recovers from a crash"},
    described{errc::cannot_connect_now, "57P03", "the server starts or ends"},
    described{errc::too_many_connections, "53300", "the server has too many connections"},
    described{errc::disk_full, "53100", "the disk of the server is full"},
    described{errc::authentication, "28P01", "the user or the password is wrong"},
    described{errc::authentication, "28000", "the user or the password is wrong"},
    described{errc::unknown_database, "3D000", "there is no such database"},
};

class postgres_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "postgres"; }
    [[nodiscard]] std::string message(int value) const override {
        for (const described& each : table) {
            if (static_cast<int>(each.code) == value) return std::string{each.text};
        }
        return "unknown error of PostgreSQL";
    }
};

}  // namespace

const std::error_category& category() noexcept {
    static const postgres_category only;
    return only;
}

error::error(errc code, std::string text, bool was_sent) : error{code, was_sent} {
    report_ = std::make_shared<const server_report>(server_report{.message = std::move(text)});
}

error error::of_server(server_report said) {
    errc code = errc::server;
    for (const described& each : table) {
        if (!each.sqlstate.empty() && each.sqlstate == said.sqlstate) code = each.code;
    }
    error made{code, true};
    made.report_ = std::make_shared<const server_report>(std::move(said));
    return made;
}

const server_report& error::report() const noexcept {
    static const server_report none;
    return report_ == nullptr ? none : *report_;
}

}  // namespace fairlead::postgres
