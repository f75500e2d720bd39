#include "savegames/flaky_store.hpp"

#include <utility>

namespace savegames {

flaky_store::flaky_store(profile_store& profiles, blob_store& blobs, fault_plan plan)
    : profiles_{profiles}, blobs_{blobs}, plan_{std::move(plan)} {}

flaky_store::~flaky_store() { release_held(); }

// Asks the plan, and changes `done` accordingly. False: do not carry the operation out; `done` has
// been called.
template <class T>
bool flaky_store::arrange(store_operation operation, const profile_key& key, completion<T>& done) {
    fault chosen;
    {
        const std::lock_guard lock{mutex_};
        if (plan_) chosen = plan_(operation, key);
    }
    switch (chosen.what) {
        case fault::kind::none:
            return true;
        case fault::kind::fail_before:
            done(std::unexpected(chosen.code));
            return false;
        case fault::kind::fail_after:
            done = [code = chosen.code, done = std::move(done)](std::expected<T, error>) mutable {
                done(std::unexpected(code));
            };
            return true;
        case fault::kind::hold:
            done = [this, done = std::move(done)](std::expected<T, error> result) mutable {
                const std::lock_guard lock{mutex_};
                held_.push_back([done = std::move(done), result = std::move(result)]() mutable {
                    done(std::move(result));
                });
                held_changed_.notify_all();
            };
            return true;
    }
    return true;
}

void flaky_store::acquire(const profile_key& key, owner_token owner,
                          std::chrono::milliseconds lease, completion<lock_result> done) {
    if (!arrange(store_operation::acquire, key, done)) return;
    profiles_.acquire(key, owner, lease, std::move(done));
}

void flaky_store::release(const profile_key& key, owner_token owner, completion<void> done) {
    if (!arrange(store_operation::release, key, done)) return;
    profiles_.release(key, owner, std::move(done));
}

void flaky_store::get(const profile_key& key, time_point deadline, completion<save> done) {
    if (!arrange(store_operation::get, key, done)) return;
    blobs_.get(key, deadline, std::move(done));
}

void flaky_store::put(const profile_key& key, const write_condition& condition, save value,
                      completion<std::uint64_t> done) {
    if (!arrange(store_operation::put, key, done)) return;
    blobs_.put(key, condition, std::move(value), std::move(done));
}

void flaky_store::erase(const profile_key& key, const write_condition& condition,
                        completion<void> done) {
    if (!arrange(store_operation::erase, key, done)) return;
    blobs_.erase(key, condition, std::move(done));
}

void flaky_store::set_plan(fault_plan plan) {
    const std::lock_guard lock{mutex_};
    plan_ = std::move(plan);
}

void flaky_store::wait_held(std::size_t count) {
    std::unique_lock lock{mutex_};
    held_changed_.wait(lock, [&] { return held_.size() >= count; });
}

std::size_t flaky_store::release_held() {
    std::vector<std::move_only_function<void()>> held;
    {
        const std::lock_guard lock{mutex_};
        held.swap(held_);
    }
    for (auto& answer : held) answer();
    return held.size();
}

}  // namespace savegames
