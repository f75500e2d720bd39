#include "dns/answers.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::dns::detail {

answers::found answers::find(const key& of, time_point now) {
    const std::lock_guard lock{mutex_};
    if (const auto at = all_.find(of); at != all_.end()) {
        entry& known = *at->second;
        if (known.is_under_way_) {
            ++stats_.joined;
            return {at->second, false};
        }
        if (now < known.holds_until) {
            ++stats_.hits;
            kept_.splice(kept_.begin(), kept_, known.place_);
            return {at->second, false};
        }
        drop(known);
    }
    if (stats_.under_way >= options_.queries_max + options_.waiting_max) return {nullptr, false};
    const auto made = std::make_shared<entry>(of);
    all_.emplace(of, made);
    ++stats_.under_way;
    ++stats_.queries;
    return {made, true};
}

void answers::land(const std::shared_ptr<entry>& of, answer said, time_point now) noexcept {
    {
        const std::lock_guard lock{mutex_};
        of->said = std::move(said);
        of->holds_until = after(now, keeping_of(of->said));
        of->is_under_way_ = false;
        --stats_.under_way;
        try {
            of->place_ = kept_.insert(kept_.begin(), of);
            ++stats_.kept;
            if (stats_.kept > options_.cache_max) drop(*kept_.back());
            if (of->holds_until <= now && of->place_ != kept_.end()) drop(*of);
        } catch (const std::bad_alloc&) {
            all_.erase(of->asked);
        }
    }
    of->landed.set();
}

// Requires mutex_. The caller may hold the last reference.
void answers::drop(entry& kept) noexcept {
    const auto place = std::exchange(kept.place_, kept_.end());
    --stats_.kept;
    all_.erase(kept.asked);
    kept_.erase(place);
}

duration answers::keeping_of(const answer& said) const noexcept {
    const duration none{};
    if (!said.failure) {
        return std::clamp(said.ttl.value_or(none), options_.ttl_min,
                          std::max(options_.ttl_min, options_.ttl_max));
    }
    if (said.failure == errc::not_found || said.failure == errc::no_data) {
        return std::clamp(said.ttl.value_or(none), options_.negative_ttl_min,
                          std::max(options_.negative_ttl_min, options_.negative_ttl_max));
    }
    const bool is_of_servers = said.failure == errc::server_failed ||
                               said.failure == errc::refused || said.failure == errc::no_answer ||
                               said.failure == errc::bad_answer;
    return is_of_servers ? options_.failure_ttl : none;
}

void answers::clear() noexcept {
    const std::lock_guard lock{mutex_};
    while (!kept_.empty()) drop(*kept_.back());
}

resolver_stats answers::stats() const {
    const std::lock_guard lock{mutex_};
    return stats_;
}

}  // namespace fairlead::dns::detail
