#include "savegames/tenants.hpp"

#include <algorithm>

namespace savegames {
namespace {

// How many requests each game may have under way in any case. A small service may have one game.
constexpr std::size_t requests_each_min = 64;

void add(budget::counts& to, const budget::counts& more) {
    to.used += more.used;
    to.granted += more.granted;
    to.refused += more.refused;
}

// Whether the report lists `a` before `b`.
bool used_more(const tenant_usage& a, const tenant_usage& b) {
    if (a.group.used != b.group.used) return a.group.used > b.group.used;
    return a.requests.granted > b.requests.granted;
}

}  // namespace

void tenant_usage::add(const tenant_usage& other) {
    connections += other.connections;
    savegames::add(requests, other.requests);
    savegames::add(memory, other.memory);
    group.tasks += other.group.tasks;
    group.queued += other.group.queued;
    group.steps += other.group.steps;
    group.used += other.group.used;
}

tenant_table::tenant_table(fairlead::scheduler& home, game_settings settings,
                           tenant_options options)
    : home_{home},
      scheduler_{home},
      options_{std::move(options)},
      requests_{options_.requests_max, requests_each_min},
      memory_{options_.memory_max},
      settings_{std::move(settings)} {}

tenant_table::stay tenant_table::enter(const game_id& game) {
    const std::lock_guard lock{mutex_};
    const auto found = by_game_.find(game.text());
    const place at = found != by_game_.end() ? found->second : make(game);
    if (at->connections++ == 0 && found != by_game_.end()) {
        busy_.splice(busy_.end(), idle_, at);
    }
    return {*this, at};
}

tenant_table::place tenant_table::make(const game_id& game) {
    std::list<tenant> made;
    tenant& fresh = made.emplace_back(game.text(), settings_.of(game.text()));
    if (options_.groups) {
        fresh.group.emplace(
            scheduler_, fairlead::group_options{.name = fresh.game,
                                                .weight = fresh.limits.weight,
                                                .max_concurrency = fresh.limits.max_concurrency});
    }
    limit_requests(fresh);
    const place at = made.begin();
    by_game_.emplace(fresh.game, at);
    busy_.splice(busy_.end(), made);
    ++made_;
    return at;
}

void tenant_table::limit_requests(tenant& of) {
    const std::size_t max = of.limits.max_requests;
    requests_.limit(of.requests, max != 0 ? max : SIZE_MAX);
}

void tenant_table::set_settings(game_settings settings) {
    const std::lock_guard lock{mutex_};
    settings_ = std::move(settings);
    for (const auto& [game, at] : by_game_) {
        const game_limits& wanted = settings_.of(game);
        if (at->limits == wanted) continue;
        at->limits = wanted;
        limit_requests(*at);
        if (!at->group) continue;
        at->group->set_weight(wanted.weight);
        at->group->set_max_concurrency(wanted.max_concurrency);
    }
}

void tenant_table::leave(place where) noexcept {
    std::list<tenant> dropped;  // destroyed after the mutex is unlocked
    const std::lock_guard lock{mutex_};
    if (--where->connections != 0) return;
    where->idle_since = options_.now();
    idle_.splice(idle_.end(), busy_, where);
    if (idle_.size() > options_.idle_max) drop_longest_idle(dropped);
    if (std::exchange(is_awaited_, false)) became_idle_.set();
}

void tenant_table::drop_longest_idle(std::list<tenant>& dropped) {
    const tenant& oldest = idle_.front();
    by_game_.erase(oldest.game);
    gone_.add(count(oldest));
    ++dropped_;
    dropped.splice(dropped.end(), idle_, idle_.begin());
}

time_point tenant_table::sweep() {
    std::list<tenant> dropped;  // destroyed after the mutex is unlocked
    const std::lock_guard lock{mutex_};
    const time_point now = options_.now();
    while (!idle_.empty() && idle_.front().idle_since + options_.idle <= now) {
        drop_longest_idle(dropped);
    }
    is_awaited_ = idle_.empty();
    return idle_.empty() ? time_point::max() : idle_.front().idle_since + options_.idle;
}

// Leaves the name out, because a copy of it would allocate.
tenant_usage tenant_table::count(const tenant& of) const noexcept {
    return {.limits = of.limits,
            .connections = of.connections,
            .requests = requests_.count(of.requests),
            .memory = memory_.count(of.memory),
            .group = of.group ? of.group->stats() : fairlead::group_stats{}};
}

tenant_report tenant_table::report(std::size_t named_max) const {
    std::vector<tenant_usage> all;
    tenant_report result;
    {
        const std::lock_guard lock{mutex_};
        all.reserve(by_game_.size());
        for (const auto& [game, at] : by_game_) {
            all.push_back(count(*at));
            all.back().game = game;
        }
        result = {.groups = options_.groups,
                  .known = by_game_.size(),
                  .idle = idle_.size(),
                  .made = made_,
                  .dropped = dropped_,
                  .most = {},
                  .others = {},
                  .gone = gone_};
    }
    const std::size_t named = std::min(named_max, all.size());
    const auto end_of_named = all.begin() + static_cast<std::ptrdiff_t>(named);
    std::ranges::partial_sort(all, end_of_named, used_more);
    for (auto each = end_of_named; each != all.end(); ++each) result.others.add(*each);
    all.resize(named);
    result.most = std::move(all);
    return result;
}

reserve_function reserving_in(budget& memory, std::shared_ptr<tenant_table::stay> game) {
    return
        [&memory, game = std::move(game)](std::size_t bytes) -> std::expected<reservation, grant> {
            struct payment {
                payment(budget& of, std::shared_ptr<tenant_table::stay> in)
                    : game{std::move(in)}, share{of, game->memory()} {}
                std::shared_ptr<tenant_table::stay> game;
                budget::share share;
            };
            const auto made = std::make_shared<payment>(memory, game);
            if (const grant given = made->share.try_grow(bytes); given != grant::granted) {
                return std::unexpected(given);
            }
            return made;
        };
}

}  // namespace savegames
