#include "savegames/shared_texts.hpp"

#include <utility>

namespace savegames {

struct shared_texts::held {
    held(shared_texts& in, const profile_key& of, std::string of_save, reservation given)
        : table{in}, key{of}, paid{std::move(given)}, text{std::move(of_save)} {}
    held(const held&) = delete;
    held& operator=(const held&) = delete;
    ~held() { table.forget(key); }

    shared_texts& table;
    const profile_key key;
    const reservation paid;
    const std::string text;  // freed before its reservation ends
};

shared_text shared_texts::find(const profile_key& key, const save& stored) const {
    std::shared_ptr<const held> found;
    {
        const std::lock_guard lock{mutex_};
        found = look(key, stored);
    }
    return found == nullptr ? nullptr : shared_text{found, &found->text};
}

shared_text shared_texts::add(const profile_key& key, const save& stored, std::string text,
                              reservation paid) {
    table fresh;
    const auto made = std::make_shared<const held>(*this, key, std::move(text), std::move(paid));
    fresh.try_emplace(key, entry{stored.version, stored.checksum, made});
    std::shared_ptr<const held> result = made;
    {
        const std::lock_guard lock{mutex_};
        if (auto found = look(key, stored)) {
            result = std::move(found);
        } else if (const auto old = texts_.find(key); old != texts_.end()) {
            std::swap(old->second, fresh.begin()->second);
        } else {
            texts_.insert(fresh.extract(fresh.begin()));
        }
    }
    return {result, &result->text};
}

std::shared_ptr<const shared_texts::held> shared_texts::look(const profile_key& key,
                                                             const save& stored) const {
    const auto found = texts_.find(key);
    if (found == texts_.end()) return nullptr;
    const entry& latest = found->second;
    if (latest.version != stored.version || latest.checksum != stored.checksum) return nullptr;
    return latest.where.lock();
}

// Removes the entry of a text that is gone. Keeps it if a newer text has taken its place.
void shared_texts::forget(const profile_key& key) noexcept {
    table::node_type dropped;
    const std::lock_guard lock{mutex_};
    const auto found = texts_.find(key);
    if (found != texts_.end() && found->second.where.expired()) dropped = texts_.extract(found);
}

std::size_t shared_texts::size() const {
    const std::lock_guard lock{mutex_};
    return texts_.size();
}

}  // namespace savegames
