#include "savegames/load/workload.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "savegames/codec.hpp"

namespace savegames::load {

const char* to_string(operation_kind kind) noexcept {
    switch (kind) {
        case operation_kind::put:
            return "put";
        case operation_kind::get:
            return "get";
        case operation_kind::update:
            return "update";
        case operation_kind::erase:
            break;
    }
    return "delete";
}

player_chooser::player_chooser(std::size_t players, double skew) : cumulative_(players) {
    double sum = 0;
    for (std::size_t i = 0; i < players; ++i) {
        sum += std::pow(static_cast<double>(i + 1), -skew);
        cumulative_[i] = sum;
    }
    for (double& each : cumulative_) each /= sum;
}

std::size_t player_chooser::choose(double unit) const noexcept {
    const auto found = std::ranges::upper_bound(cumulative_, unit);
    const auto index = static_cast<std::size_t>(found - cumulative_.begin());
    return std::min(index, cumulative_.size() - 1);
}

workload::workload(const load_options& options)
    : mix_{options.mix},
      players_{options.players},
      games_{options.games},
      game_{options.game},
      chooser_{options.players, options.skew} {
    save_generator generate{options.seed};
    saves_.reserve(options.pool);
    patches_.reserve(options.pool);
    for (std::size_t i = 0; i < options.pool; ++i) {
        std::string text = generate.make_save(generate.draw_size(options.sizes));
        const std::uint64_t sum = savegames::checksum(text);
        saves_.push_back({std::move(text), sum});
        patches_.push_back(generate.make_patch());
    }
}

request_plan workload::draw(random_source& random) const noexcept {
    request_plan plan{.kind = draw_kind(random), .player = chooser_.choose(random.unit())};
    if (plan.kind == operation_kind::put) {
        const pooled_save& chosen = saves_[random.below(saves_.size())];
        plan.body = &chosen.text;
        plan.checksum = chosen.checksum;
    } else if (plan.kind == operation_kind::update) {
        plan.body = &patches_[random.below(patches_.size())];
    }
    return plan;
}

operation_kind workload::draw_kind(random_source& random) const noexcept {
    std::uint64_t point = random.below(mix_.sum());
    if (point < mix_.put) return operation_kind::put;
    point -= mix_.put;
    if (point < mix_.get) return operation_kind::get;
    point -= mix_.get;
    return point < mix_.update ? operation_kind::update : operation_kind::erase;
}

request_plan workload::first_save(std::size_t player) const noexcept {
    const pooled_save& chosen = saves_[player % saves_.size()];
    return {operation_kind::put, player, &chosen.text, chosen.checksum};
}

std::string workload::path(const request_plan& plan) const {
    const std::string game = game_.empty() ? fmt::format("load-{}", plan.player % games_) : game_;
    return fmt::format("/games/{}/saves/player-{}{}", game, plan.player,
                       plan.kind == operation_kind::update ? "/update" : "");
}

}  // namespace savegames::load
