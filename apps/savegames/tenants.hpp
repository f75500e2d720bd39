// The games that the service serves, as tenants. Each game has a group of the scheduler, by which
// games share the workers, and accounts of what it has under way.
//
// The first request for a game makes it. It is dropped when it has had no connection for a while.
// A connection stays in the game of its latest request, and its task in the group of that game,
// until it asks for another game. So the cost of a connection is charged to its game; only the
// first head of a connection is charged to no game.
//
// Every method may be called from any thread. One mutex, held for a table lookup; `report` holds it
// for a look at each game. Nothing polls: one task drops games that were idle for too long. It
// sleeps until the next game is due, or until a game becomes idle.
#pragma once

#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/wait/event.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "savegames/budget.hpp"
#include "savegames/game_settings.hpp"
#include "savegames/job.hpp"
#include "savegames/model.hpp"

namespace savegames {

struct tenant_options {
    bool groups = true;  // false: all games are in the default group of the scheduler
    std::chrono::milliseconds idle{60'000};         // how long to keep a game without connections
    std::size_t idle_max = 10'000;                  // the most such games; above it the oldest goes
    std::size_t requests_max = 10'000;              // under way, in all games
    std::size_t memory_max = std::size_t{1} << 30;  // bytes that all clients hold, about
    std::function<time_point()> now = [] { return clock::now(); };
};

// What one game used, or several games together.
struct tenant_usage {
    std::string game{};
    game_limits limits{};
    std::size_t connections = 0;
    budget::counts requests{};  // `used`: requests under way
    budget::counts memory{};    // bytes of bodies
    fairlead::group_stats group{};

    void add(const tenant_usage& other);
};

struct tenant_report {
    bool groups = false;
    std::size_t known = 0;  // games that have a group and accounts now
    std::size_t idle = 0;   // of these, the games without a connection
    std::uint64_t made = 0;
    std::uint64_t dropped = 0;
    std::vector<tenant_usage> most;  // the games that used the workers most, in order
    tenant_usage others;             // all other known games together
    tenant_usage gone;               // all dropped games together
};

class tenant_table {
    struct tenant {
        const std::string game;
        game_limits limits;
        std::optional<fairlead::group> group{};
        budget::account requests{};
        budget::account memory{};
        std::size_t connections = 0;
        time_point idle_since{};
    };
    using place = std::list<tenant>::iterator;

public:
    // The stay of one connection in a game. The destructor leaves the game.
    class stay {
    public:
        stay(tenant_table& table, place where) noexcept : table_{&table}, place_{where} {}
        stay(stay&& other) noexcept
            : table_{std::exchange(other.table_, nullptr)}, place_{other.place_} {}
        stay& operator=(stay&&) = delete;
        ~stay() {
            if (table_ != nullptr) table_->leave(place_);
        }

        [[nodiscard]] const std::string& game() const noexcept { return place_->game; }

        // Where the tasks of the game run.
        [[nodiscard]] fairlead::executor where() const noexcept {
            return place_->group ? fairlead::executor{*place_->group} : table_->home_;
        }
        [[nodiscard]] budget::account& requests() const noexcept { return place_->requests; }
        [[nodiscard]] budget::account& memory() const noexcept { return place_->memory; }

    private:
        tenant_table* table_;
        place place_;
    };

    // The scheduler outlives the table; the table outlives every stay.
    tenant_table(fairlead::scheduler& home, game_settings settings, tenant_options options);
    tenant_table(const tenant_table&) = delete;
    tenant_table& operator=(const tenant_table&) = delete;

    // Enters a game, and makes it if it is not known. Throws std::bad_alloc.
    [[nodiscard]] stay enter(const game_id& game);

    // Replaces the limits. Requests under way go on.
    void set_settings(game_settings settings);

    [[nodiscard]] budget& requests() noexcept { return requests_; }
    [[nodiscard]] budget& memory() noexcept { return memory_; }
    [[nodiscard]] const budget& memory() const noexcept { return memory_; }

    // The account of request bodies that belong to no game.
    [[nodiscard]] budget::account& no_game() noexcept { return no_game_; }

    // The account of what connections hold besides bodies: buffers and heads.
    [[nodiscard]] budget::account& connections() noexcept { return connections_; }
    [[nodiscard]] std::size_t connection_bytes() const { return memory_.count(connections_).used; }

    // --- for the task that sweeps ----------------------------------------------------------------

    // Drops the games that were idle for too long. Returns when to sweep again;
    // `time_point::max()`: no game is idle.
    [[nodiscard]] time_point sweep();

    // Waits until then; after a sweep that found no idle game, until there is one.
    [[nodiscard]] auto wait_for_sweep(time_point when) { return became_idle_.wait(when); }

    // --- for reports -----------------------------------------------------------------------------

    // Lists at most `named_max` games by name. O(games).
    [[nodiscard]] tenant_report report(std::size_t named_max) const;

private:
    void leave(place where) noexcept;

    // --- require mutex_ --------------------------------------------------------------------------

    place make(const game_id& game);
    void limit_requests(tenant& of);
    void drop_longest_idle(std::list<tenant>& dropped);
    [[nodiscard]] tenant_usage count(const tenant& of) const noexcept;

    const fairlead::executor home_;
    fairlead::scheduler& scheduler_;
    const tenant_options options_;
    budget requests_;
    budget memory_;
    budget::account no_game_;
    budget::account connections_;

    mutable std::mutex mutex_;
    game_settings settings_;
    std::list<tenant> busy_;
    std::list<tenant> idle_;  // longest idle first
    std::unordered_map<std::string_view, place> by_game_;
    fairlead::auto_event became_idle_;
    bool is_awaited_ = false;  // the latest sweep found no idle game
    std::uint64_t made_ = 0;
    std::uint64_t dropped_ = 0;
    tenant_usage gone_;
};

// Reserves memory for the texts of a job, out of the game's share. The job may outlive the
// connection.
[[nodiscard]] reserve_function reserving_in(budget& memory,
                                            std::shared_ptr<tenant_table::stay> game);

}  // namespace savegames
