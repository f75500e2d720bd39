// The games that are served, as tenants: each has a group of the scheduler, by which it shares the workers, and
// accounts of what it has under way.
//
// A game is made when a connection first asks for something of it, and dropped when it has had no connection for a
// while. A connection stays in the game of its latest request, and its task in that game's group, until it asks for
// another's. So what a connection costs is charged to its game, but for its first head.
//
// Every method may be called from any thread; one mutex, held for a table lookup, and by `report` for a look at each
// game. Nothing polls: a task sweeps out who was idle for too long, and sleeps until then, or until somebody is idle.
#pragma once

#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/sched/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "savegames/budget.hpp"
#include "savegames/game_settings.hpp"
#include "savegames/model.hpp"

namespace savegames {

struct tenant_options {
    bool groups = true;  // false: all games are in the default group of the scheduler
    std::chrono::milliseconds idle{60'000};  // how long a game is kept without a connection
    std::size_t idle_max = 10'000;           // so many of these; then the longest idle one goes
    std::size_t requests_max = 10'000;       // under way, of all games
    std::size_t memory_max = std::size_t{1} << 30;  // bytes that all clients hold, about
    std::function<time_point()> now = [] { return clock::now(); };
};

// What one game did, or several together.
struct tenant_usage {
    std::string game{};
    game_limits limits{};
    std::size_t connections = 0;
    budget::counts requests{};  // used: under way
    budget::counts memory{};    // bytes of bodies
    fairlead::group_stats group{};

    void add(const tenant_usage& other);
};

struct tenant_report {
    bool groups = false;
    std::size_t known = 0;  // with their group
    std::size_t idle = 0;   // of these, without a connection
    std::uint64_t made = 0;
    std::uint64_t dropped = 0;
    std::vector<tenant_usage> most;  // who used the most of the workers, in order
    tenant_usage others;             // the rest of the known ones
    tenant_usage gone;               // the dropped ones
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
    // Whoever is in a game; leaves it when destroyed.
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

        // Where its tasks run.
        [[nodiscard]] fairlead::executor where() const noexcept {
            return place_->group ? fairlead::executor{*place_->group} : table_->home_;
        }
        [[nodiscard]] budget::account& requests() const noexcept { return place_->requests; }
        [[nodiscard]] budget::account& memory() const noexcept { return place_->memory; }

    private:
        tenant_table* table_;
        place place_;
    };

    // The scheduler outlives the table, and the table whoever is in it.
    tenant_table(fairlead::scheduler& home, game_settings settings, tenant_options options);
    tenant_table(const tenant_table&) = delete;
    tenant_table& operator=(const tenant_table&) = delete;

    // Throws std::bad_alloc.
    [[nodiscard]] stay enter(const game_id& game);

    // Other limits, from now on; requests under way go on.
    void set_settings(game_settings settings);

    [[nodiscard]] budget& requests() noexcept { return requests_; }
    [[nodiscard]] budget& memory() noexcept { return memory_; }
    [[nodiscard]] const budget& memory() const noexcept { return memory_; }

    // For the bodies of requests that are of no game.
    [[nodiscard]] budget::account& no_game() noexcept { return no_game_; }

    // For what connections hold besides bodies: buffers and heads.
    [[nodiscard]] budget::account& connections() noexcept { return connections_; }
    [[nodiscard]] std::size_t connection_bytes() const { return memory_.count(connections_).used; }

    // --- for the task that sweeps -----------------------------------------------------------------

    // Drops who was idle for too long; when to sweep again, or `time_point::max()`: `sweeper` is signalled
    // when somebody is idle.
    [[nodiscard]] time_point sweep(fairlead::basic_task& sweeper);

    // The task that sweeps ends: it is not signalled any more.
    void forget_sweeper();

    // --- for reports ------------------------------------------------------------------------------

    // With at most `named_max` games by name. O(games).
    [[nodiscard]] tenant_report report(std::size_t named_max) const;

private:
    void leave(place where) noexcept;

    // --- requires mutex_ --------------------------------------------------------------------------

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
    fairlead::basic_task* sweeper_ = nullptr;  // null, too, while it has a time to sweep at
    std::uint64_t made_ = 0;
    std::uint64_t dropped_ = 0;
    tenant_usage gone_;
};

}  // namespace savegames
