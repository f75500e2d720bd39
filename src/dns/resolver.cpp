#include <fairlead/dns/resolver.hpp>

#include "dns/resolver_state.hpp"

#include <fairlead/io/connect.hpp>

#include <utility>

namespace fairlead::dns {

resolver::resolver(std::shared_ptr<detail::resolver_state> state) noexcept
    : state_{std::move(state)} {}
resolver::resolver(resolver&& other) noexcept = default;
resolver& resolver::operator=(resolver&& other) noexcept {
    if (this == &other) return *this;
    if (state_ != nullptr) state_->close();
    state_ = std::move(other.state_);
    return *this;
}
resolver::~resolver() {
    if (state_ != nullptr) state_->close();
}

std::expected<resolver, std::error_code> resolver::make(executor where, resolver_options options) {
    auto state = std::make_shared<detail::resolver_state>(where, std::move(options));
    if (const std::error_code failure = state->open()) return std::unexpected{failure};
    return resolver{std::move(state)};
}

task<std::expected<std::vector<io::address>, std::error_code>> resolver::resolve(
    std::string host, std::uint16_t port, time_point deadline) {
    std::vector<io::address> found;
    const detail::sink keeps = [&found](const std::vector<io::address>& all, bool) { found = all; };
    const std::error_code failure =
        co_await detail::resolver_state::find(state_, std::move(host), port, deadline, keeps);
    if (found.empty()) co_return std::unexpected{failure};
    co_return found;
}

task<std::error_code> resolver::resolve_into(io::address_feed& feed, std::string host,
                                             std::uint16_t port, time_point deadline) {
    const struct at_the_end {
        io::address_feed& feed;
        ~at_the_end() { feed.end(); }
    } ends{feed};
    bool found = false;
    const detail::sink feeds = [&](const std::vector<io::address>& all, bool complete) {
        found = true;
        feed.set(all, complete);
    };
    const std::error_code failure =
        co_await detail::resolver_state::find(state_, std::move(host), port, deadline, feeds);
    co_return found ? std::error_code{} : failure;
}

void resolver::clear() noexcept { state_->known().clear(); }

resolver_stats resolver::stats() const { return state_->known().stats(); }

}  // namespace fairlead::dns
