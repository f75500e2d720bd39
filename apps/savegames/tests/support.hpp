// Helpers for several tests of the service.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <expected>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>

#include "savegames/codec.hpp"
#include "savegames/model.hpp"
#include "savegames/store.hpp"

namespace savegames {

inline profile_key key_of(std::string_view player, std::string_view game = "chess") {
    return {game_id::parse(game).value(), player_id::parse(player).value()};
}

inline save packed(std::string_view text) { return pack(text).value(); }

// Receives the answer of one operation. Pass `done()` to the store; `get()` blocks for the answer.
template <class T>
class answer {
public:
    completion<T> done() {
        return [this](std::expected<T, error> result) { promise_.set_value(std::move(result)); };
    }

    std::expected<T, error> get() { return promise_.get_future().get(); }

private:
    std::promise<std::expected<T, error>> promise_;
};

inline std::expected<std::uint64_t, error> put(blob_store& store, const profile_key& key,
                                               save value, const write_condition& condition = {}) {
    answer<std::uint64_t> written;
    store.put(key, condition, std::move(value), written.done());
    return written.get();
}

inline std::expected<save, error> get(blob_store& store, const profile_key& key) {
    answer<save> read;
    store.get(key, time_point::max(), read.done());
    return read.get();
}

inline std::expected<void, error> erase(blob_store& store, const profile_key& key,
                                        const write_condition& condition = {}) {
    answer<void> erased;
    store.erase(key, condition, erased.done());
    return erased.get();
}

inline std::expected<lock_result, error> acquire(
    profile_store& store, const profile_key& key, owner_token owner,
    std::chrono::milliseconds lease = std::chrono::minutes{1}) {
    answer<lock_result> locked;
    store.acquire(key, owner, lease, locked.done());
    return locked.get();
}

inline std::expected<void, error> release(profile_store& store, const profile_key& key,
                                          owner_token owner) {
    answer<void> released;
    store.release(key, owner, released.done());
    return released.get();
}

// A temporary folder. The destructor removes it with its contents.
class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "savegames-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
        path_ = name;
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    std::string operator/(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

}  // namespace savegames
