#include "tls/session_cache.hpp"

#include <algorithm>
#include <mutex>
#include <ranges>
#include <utility>

namespace fairlead::io::detail {

void session_cache::keep(std::string_view host, owned_session session) {
    if (size_max_ == 0) return;
    entry added{std::string{host}, std::move(session)};
    entry dropped;  // freed without the lock
    const std::lock_guard lock{mutex_};
    if (entries_.size() == size_max_) {
        dropped = std::move(entries_.front());
        entries_.erase(entries_.begin());
    }
    entries_.push_back(std::move(added));
}

owned_session session_cache::take(std::string_view host) {
    const std::lock_guard lock{mutex_};
    const auto newest = std::ranges::find(entries_.rbegin(), entries_.rend(), host, &entry::host);
    if (newest == entries_.rend()) return {};
    SSL_SESSION* const kept = newest->session.get();
    if (SSL_SESSION_get_protocol_version(kept) < TLS1_3_VERSION) {
        SSL_SESSION_up_ref(kept);
        return owned_session{kept};
    }
    owned_session taken = std::move(newest->session);
    entries_.erase(std::next(newest).base());
    return taken;
}

}  // namespace fairlead::io::detail
