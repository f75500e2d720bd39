// The texts of large saves that are being sent: one copy for all clients that read the same
// version.
//
//   job ──find──> a text that is being sent to another client ──> the answer of this one, too
//   job ──add───> its own text, from now on found by others
//
// A text is immutable, and goes when the last answer that has it has been sent. What was paid for
// it goes with it.
//
// Any thread; one mutex, held for a table lookup. Texts are freed outside of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "savegames/model.hpp"

namespace savegames {

using shared_text = std::shared_ptr<const std::string>;

// What counts against a bound until it is destroyed.
using reservation = std::shared_ptr<const void>;

// Outlives its texts.
class shared_texts {
public:
    // The text of `stored`, if it is being sent; else null.
    [[nodiscard]] shared_text find(const profile_key& key, const save& stored) const;

    // `text` is that of `stored`, and `paid` was given for it. Answers another copy, and drops this
    // one, if there is one by now. Throws std::bad_alloc.
    [[nodiscard]] shared_text add(const profile_key& key, const save& stored, std::string text,
                                  reservation paid);

    [[nodiscard]] std::size_t size() const;

private:
    // A text in the table. Takes itself out.
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
    table texts_;  // the latest text of each save
};

}  // namespace savegames
