// The sessions that a client keeps to resume them: see RFC 8446, section 2.2.
//
// A session is kept under the host whose certificate was verified for it, and is given to
// connections to that host alone, because a resumed handshake verifies no certificate. A session of
// TLS 1.3 is given once, so that an observer cannot tell that two connections are of one client.
#pragma once

#include "tls/owned.hpp"

#include <fairlead/detail/sync/mutex.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::io::detail {

// Any thread. Looking for a session takes time in proportion to their number.
class session_cache {
public:
    explicit session_cache(std::size_t size_max) noexcept : size_max_{size_max} {}

    // The oldest one goes when there are too many. May throw std::bad_alloc.
    void keep(std::string_view host, owned_session session);
    // The newest one, or null.
    [[nodiscard]] owned_session take(std::string_view host);

private:
    struct entry {
        std::string host;
        owned_session session;
    };

    const std::size_t size_max_;
    sync::mutex mutex_;
    std::vector<entry> entries_;  // the oldest one first
};

}  // namespace fairlead::io::detail
