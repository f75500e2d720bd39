// Saves in PostgreSQL: a row for each profile, which stays when the save is erased, so that no
// version number comes twice.
//
// A write is one statement, and so one transaction. It locks the row, checks it, and replaces
// exactly the version that it has checked.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/pool.hpp>

#include <cstdint>
#include <optional>

#include "savegames/redis_leases.hpp"
#include "savegames/store.hpp"

namespace savegames {

// What a write needs.
struct saves_write {
    profile_key key;
    std::optional<save> value;                        // empty: an erase
    std::optional<std::uint64_t> fence{};             // the version of the row; 0: there is no row
    std::optional<std::uint64_t> expected_version{};  // of the save; 0: there is none
    time_point deadline = time_point::max();
};

class postgres_saves {
public:
    explicit postgres_saves(fairlead::postgres::pool& pool) noexcept : pool_{pool} {}

    // Makes the tables, or brings them up to date, and checks the settings of the server. Several
    // processes may do so at once: they wait for each other. The error is a sentence for a person.
    [[nodiscard]] fairlead::task<std::expected<void, std::string>> prepare(time_point deadline);

    // The version of the row; 0: there is none.
    [[nodiscard]] fairlead::task<server_result<std::uint64_t>> version(profile_key key,
                                                                       time_point deadline);

    // A read is repeated when its connection was lost.
    [[nodiscard]] fairlead::task<server_result<save>> get(profile_key key, time_point deadline);

    // The new version, or why nothing was written: not_found, conflict, or lease_lost if the fence
    // does not hold. A write is not repeated after a loss: it fails, and may have happened.
    [[nodiscard]] fairlead::task<server_result<std::uint64_t>> write(saves_write what);

    // Whether the server answers; and whether it writes, by a write that changes no save.
    [[nodiscard]] fairlead::task<server_result<void>> probe(bool by_a_write, time_point deadline);

private:
    fairlead::postgres::pool& pool_;
};

}  // namespace savegames
