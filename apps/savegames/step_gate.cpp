#include "savegames/step_gate.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace savegames {

namespace fl = fairlead;

step_gate::turn::~turn() {
    if (inside_) gate_.leave(game_, place_);
}

fl::task<bool> step_gate::turn::wait(std::string game, time_point deadline) {
    game_ = std::move(game);
    lane made;
    made.emplace_back();
    place_ = made.begin();
    gate_.enter(game_, made);
    inside_ = true;
    if (!place_->is_set()) static_cast<void>(co_await place_->wait(deadline));
    co_return place_->is_set();
}

std::size_t step_gate::limit_for(std::size_t workers) {
    const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    return std::max<std::size_t>(std::min(workers, processors) / 2, 1);
}

void step_gate::enter(const std::string& game, lane& made) {
    const std::lock_guard lock{mutex_};
    lane& mine = lanes_[game];
    mine.splice(mine.end(), made);
    pass_on();
}

void step_gate::leave(const std::string& game, lane::iterator place) {
    lane gone;
    const std::lock_guard lock{mutex_};
    if (place->is_set()) {
        gone.splice(gone.end(), granted_, place);
    } else {
        const auto mine = lanes_.find(game);
        gone.splice(gone.end(), mine->second, place);
        if (mine->second.empty()) lanes_.erase(mine);
    }
    pass_on();
}

void step_gate::pass_on() {
    while (granted_.size() < limit_ && !lanes_.empty()) {
        auto next = lanes_.upper_bound(last_);
        if (next == lanes_.end()) next = lanes_.begin();
        lane& from = next->second;
        from.front().set();
        granted_.splice(granted_.end(), from, from.begin());
        last_ = next->first;
        if (from.empty()) lanes_.erase(next);
    }
    running_max_ = std::max(running_max_, granted_.size());
}

step_gate::counters step_gate::count() const {
    const std::lock_guard lock{mutex_};
    std::size_t waiting = 0;
    for (const auto& [game, line] : lanes_) waiting += line.size();
    return {.running = granted_.size(), .waiting = waiting, .running_max = running_max_};
}

}  // namespace savegames
