// The number of shares in an object: the end of the last one destroys it.
//
// Any thread. A share is copied by an owner of a share, so the count does not come back from 0.
//
// Model test: share_count_test.cpp.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sync {

class share_count {
public:
    explicit share_count(std::uint32_t shares = 1) noexcept : shares_{shares} {}

    /// One share more. The caller has one.
    void add() noexcept {
        // relaxed: nothing is concluded; the object is there as long as the caller's share. [SH1]
        shares_.fetch_add(1, relaxed);
    }

    /// One share fewer. True: it was the last one, and what all owners did before is seen.
    [[nodiscard]] bool drop() noexcept {
        // release: what was done with this share comes before the end; acquire: the last one sees
        // what was done with the other ones. [SH1]
        return shares_.fetch_sub(1, acq_rel) == 1;
    }

private:
    // Written by every owner that copies or ends a share.
    atomic<std::uint32_t> shares_;
};

}  // namespace fairlead::sync
