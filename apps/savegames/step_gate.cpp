#include "savegames/step_gate.hpp"

#include <fairlead/coro/awaits.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace savegames {

namespace fl = fairlead;

step_gate::turn::~turn() {
    if (inside_) gate_.leave(game_, place_);
}

fl::task<bool> step_gate::turn::wait(std::string game, time_point deadline) {
    fl::basic_task& self = co_await fl::current_task();
    game_ = std::move(game);
    lane made;
    made.push_back({&self});
    place_ = made.begin();
    gate_.enter(game_, made);
    inside_ = true;
    bool granted = gate_.is_granted(place_);
    // A signal may come from the store, for an operation whose answer the job has seen already.
    fl::wake_reason reason = fl::wake_reason::signalled;
    while (!granted && reason == fl::wake_reason::signalled) {
        reason = co_await fl::receive_signal(deadline);
        granted = gate_.is_granted(place_);
    }
    co_return granted;
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

bool step_gate::is_granted(lane::iterator place) const {
    const std::lock_guard lock{mutex_};
    return place->granted;
}

void step_gate::leave(const std::string& game, lane::iterator place) {
    lane gone;
    const std::lock_guard lock{mutex_};
    if (place->granted) {
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
        from.front().granted = true;
        from.front().task->signal();
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
