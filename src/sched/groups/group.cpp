#include <fairlead/sched/group.hpp>

#include "sched/groups/group_state.hpp"
#include "sched/runtime/core.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace fairlead {
namespace {

void validate_weight(unsigned weight) {
    if (weight < 1 || weight > sched::group_state::weight_max) {
        throw std::invalid_argument{"fairlead: group_options.weight must be 1 to 10000"};
    }
}

void validate_rate(double per_second) {
    if (per_second != 0 && !(per_second >= 1.0 / 3600 && per_second <= 1e9)) {
        throw std::invalid_argument{
            "fairlead: group_options.rate_max must be 0, or 1/3600 to 10^9 a second"};
    }
}

group_options validated(group_options options) {
    using namespace std::chrono_literals;
    validate_weight(options.weight);
    if (options.priority > priority::highest) {
        throw std::invalid_argument{
            "fairlead: group_options.priority must be low, normal, high or highest"};
    }
    if (options.slice < 10us || options.slice > 1s) {
        throw std::invalid_argument{"fairlead: group_options.slice must be 10 us to 1 s"};
    }
    validate_rate(options.rate_max);
    if (options.rate_burst < 1 || options.rate_burst > 1'000'000) {
        throw std::invalid_argument{"fairlead: group_options.rate_burst must be 1 to 1000000"};
    }
    if (options.drop_oldest && options.earliest_deadline_first) {
        throw std::invalid_argument{
            "fairlead: group_options.earliest_deadline_first must be false with drop_oldest"};
    }
    return options;
}

std::optional<unsigned> worker_or_none(unsigned worker) noexcept {
    if (worker == sched::group_state::nobody) return std::nullopt;
    return worker;
}

duration in_nanoseconds(std::uint64_t count) noexcept {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(count)};
}

}  // namespace

group::group(scheduler& owner, group_options options)
    : state_{owner.core_->make_group(validated(std::move(options)))} {
    refer_to(*state_);
}

group::group(group&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {
    post_target::operator=(other);
    other.refer_to(sched::nowhere);
}

group& group::operator=(group&& other) noexcept {
    if (this == &other) return *this;
    drop();
    state_ = std::exchange(other.state_, nullptr);
    post_target::operator=(other);
    other.refer_to(sched::nowhere);
    return *this;
}

group::~group() { drop(); }

// A paused group is resumed: without the handle no thread could resume its tasks.
void group::drop() noexcept {
    if (state_ == nullptr) return;
    if (state_->paused.load(sync::relaxed)) resume();
    std::exchange(state_, nullptr)->let_go();
}

void group::set_weight(unsigned weight) {
    validate_weight(weight);
    state_->weight_wanted.store(weight, sync::relaxed);  // published by the notice
    state_->in.notice(*state_);
}

void group::set_max_concurrency(unsigned count) noexcept {
    state_->running_max.store(count, sync::relaxed);  // published by the notice
    state_->in.notice(*state_);
}

void group::set_queue_max(std::size_t count) noexcept {
    state_->permits.set_bound(sched::group_state::bound_of_queue(count));
}

void group::set_rate_max(double per_second) {
    validate_rate(per_second);
    state_->rate_wanted.store(per_second, sync::relaxed);  // published by the notice
    state_->in.notice(*state_);
}

permit group::try_permit() noexcept {
    if (state_->drops_to == nullptr && !state_->permits.try_take()) {
        state_->refused.fetch_add(1, sync::relaxed);  // for reports
        return {};
    }
    return permit{*state_};
}

bool group::try_post(basic_task& task) noexcept {
    permit one = try_permit();
    if (!one) return false;
    std::move(one).post(task);
    return true;
}

void group::pause() noexcept {
    state_->paused.store(true, sync::relaxed);  // read before each turn of the group
}

void group::resume() noexcept {
    state_->paused.store(false, sync::relaxed);  // published by the notice
    state_->in.notice(*state_);
}

void group::bind() noexcept { state_->in.bind_somewhere(*state_); }

void group::bind(unsigned worker) {
    const std::size_t workers = state_->in.width();
    if (worker >= workers) {
        throw std::invalid_argument{"fairlead: the worker of group::bind must be 0 to " +
                                    std::to_string(workers - 1)};
    }
    state_->in.bind(*state_, worker);
}

void group::release() noexcept { state_->in.bind(*state_, sched::group_state::nobody); }

group_stats group::stats() const noexcept {
    return {.tasks = state_->tasks(),
            .queued = state_->queued.load(sync::relaxed),
            .steps = state_->ended(),
            .used = state_->used(),
            .turns = state_->turns.read(),
            .waited = in_nanoseconds(state_->waited.read()),
            .waited_most = in_nanoseconds(state_->waited_most.read()),
            .throttled = state_->throttled.read(),
            .delayed = state_->delayed.read(),
            .refused = state_->refused.load(sync::relaxed),
            .dropped = state_->dropped.read(),
            .waiting_posts = state_->permits.waiting(),
            .bound_to = worker_or_none(state_->bound_to.load(sync::relaxed))};
}

const std::string& group::name() const noexcept { return state_->name; }

namespace sched {

void home::hold_group() noexcept { static_cast<group_state&>(*this).hold(); }
void home::let_group_go() noexcept { static_cast<group_state&>(*this).let_go(); }

bool home::is_limited() const noexcept {
    return grouped() && static_cast<const group_state&>(*this).has_limit();
}

group_state::group_state(core& its_core, lane by, group_options options,
                         group_state* gives_dropped_to) noexcept
    : home{its_core.owner, by},
      share{static_cast<double>(options.weight), options.slice},
      in{its_core},
      name{std::move(options.name)},
      level{static_cast<std::size_t>(options.priority)},
      drops_to{gives_dropped_to},
      permits{bound_of_queue(options.queue_max)},
      weight_wanted{options.weight},
      running_max{options.max_concurrency},
      rate_wanted{options.rate_max},
      queue{options.earliest_deadline_first},
      limit_{options.rate_max, options.rate_burst} {
    if (options.rate_max != 0) queue.have_entry();
}

void group_state::destroy() noexcept {
    if (is_bound()) in.handover.bind(*this, nobody);
    if (grouped()) in.groups.erase(*this);  // the default group is in no list
    delete this;
}

}  // namespace sched
}  // namespace fairlead
