// What a statement does with its connection, by its first words.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlead::postgres::detail {

enum class statement_kind : std::uint8_t {
    plain,      ///< nothing beyond its transaction
    savepoint,  ///< SAVEPOINT, RELEASE, ROLLBACK TO, SET LOCAL and the like: for transactions alone
    transaction,  ///< BEGIN, COMMIT and the like: for the members of `transaction` alone
    session,      ///< SET, LISTEN, PREPARE and the like: it changes the connection
    copy,         ///< COPY from or to the client
};

[[nodiscard]] statement_kind kind_of(std::string_view sql) noexcept;

}  // namespace fairlead::postgres::detail
