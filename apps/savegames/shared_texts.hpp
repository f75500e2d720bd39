// The texts of large saves that are being sent. Clients that read the same version share one copy.
//
//   job ──find──> a text that is being sent to another client; the job answers with it
//   job ──add───> the job's own text; from now on `find` returns it
//
// A text is immutable. It is freed when the last answer that has it has been sent, and its memory
// reservation ends then.
//
// Any thread; one mutex, held for a table lookup. Texts are freed outside the mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "savegames/model.hpp"

namespace savegames {

using shared_text = std::shared_ptr<const std::string>;

// An amount of memory that counts in a budget until the reservation is destroyed.
using reservation = std::shared_ptr<const void>;

// Outlives its texts.
class shared_texts {
public:
    // The text of `stored` if it is being sent to a client; else null.
    [[nodiscard]] shared_text find(const profile_key& key, const save& stored) const;

    // Adds `text`, the text of `stored`, for which `paid` is the reservation. Returns the copy to
    // send: another job's, if that came first; then `text` is dropped. Throws std::bad_alloc.
    [[nodiscard]] shared_text add(const profile_key& key, const save& stored, std::string text,
                                  reservation paid);

    [[nodiscard]] std::size_t size() const;

private:
    // A text in the table. The destructor removes it from the table.
    struct held;

    struct entry {
        std::uint64_t version;
        std::uint64_t checksum;
        std::weak_ptr<const held> where;
    };
    using table = std::unordered_map<profile_key, entry, profile_key_hash>;

    [[nodiscard]] std::shared_ptr<const held> look(const profile_key& key,
                                                   const save& stored) const;  // requires mutex_
    void forget(const profile_key& key) noexcept;

    mutable std::mutex mutex_;
    table texts_;  // for each save, the latest version that is being sent
};

}  // namespace savegames
