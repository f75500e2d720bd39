#include "dns/resolver_state.hpp"

#include "dns/host_name.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/dns/order.hpp>

#include <netinet/in.h>

#include <algorithm>
#include <new>
#include <utility>

namespace fairlead::dns::detail {
namespace {

// 127.0.0.1, and ::1.
std::vector<io::address> loopbacks() {
    return {io::address::parse("::1", 0).value(), io::address::loopback(0)};
}

io::address with_port(const io::address& from, std::uint16_t port) noexcept {
    if (from.is_v6()) {
        sockaddr_in6 v6 = *reinterpret_cast<const sockaddr_in6*>(from.data());
        v6.sin6_port = htons(port);
        return io::address{reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)};
    }
    sockaddr_in v4 = *reinterpret_cast<const sockaddr_in*>(from.data());
    v4.sin_port = htons(port);
    return io::address{reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)};
}

// Whether another complete name may have addresses.
bool goes_on(const std::error_code& failure) noexcept {
    return failure == errc::not_found || failure == errc::no_data ||
           failure == errc::server_failed || failure == errc::refused;
}

// How much a failure says: that of a family, or of a complete name, hides those that say less.
int weight_of(const std::error_code& failure) noexcept {
    if (!failure) return 0;
    if (failure == errc::not_found) return 1;
    if (failure == errc::no_data) return 2;
    return goes_on(failure) ? 3 : 4;
}

void put_weightier(std::error_code& known, const std::error_code& failure) noexcept {
    if (weight_of(failure) > weight_of(known)) known = failure;
}

}  // namespace

resolver_state::resolver_state(executor where, resolver_options options)
    : where_{where},
      options_{std::move(options)},
      hosts_{options_.hosts_file, options_.hosts_interval},
      turns_{std::max(options_.queries_max, 1U)},
      by_{options_.by} {
    if (!options_.order) options_.order = &sort_by_system;
}

std::error_code resolver_state::open() {
    if (options_.search) {
        if (!std::ranges::all_of(*options_.search, &is_host_name)) return errc::bad_name;
        std::ranges::transform(*options_.search, options_.search->begin(), &normalized);
    }
    if (by_) return {};
    auto servers = server_channel::make(where_, options_);
    if (!servers) return servers.error();
    servers_ = *servers;
    by_ = [channel = servers_](std::string name, family of) {
        return server_channel::ask(channel, std::move(name), of);
    };
    if (!options_.search) options_.search = servers_->search();
    if (!options_.ndots) options_.ndots = servers_->ndots();
    return {};
}

void resolver_state::close() noexcept {
    if (servers_ != nullptr) servers_->close();
    closed_.request_stop();
}

// --- a query -------------------------------------------------------------------------------------

resolver_state::landing::~landing() {
    if (of_ != nullptr) in_->known_.land(of_, std::move(said), clock::now());
}

task<> resolver_state::fetch(std::shared_ptr<resolver_state> self, landing ends) {
    const key& asked = ends.asked();
    const auto turn = co_await self->turns_.acquire(1);
    if (!turn) {
        ends.said.failure = io::detail::code_of(turn.error());
    } else {
        try {
            const auto said = co_await as_result(self->by_(asked.name, asked.of));
            if (said) {
                ends.said = *said;
            } else {
                ends.said.failure = io::detail::code_of(said.error());
            }
            if (!ends.said.failure && ends.said.addresses.empty()) {
                ends.said.failure = errc::no_data;
            }
            if (ends.said.addresses.size() > self->options_.addresses_max) {
                ends.said.addresses.resize(self->options_.addresses_max);
            }
        } catch (const std::bad_alloc&) {
            ends.said = {.failure = std::make_error_code(std::errc::not_enough_memory),
                         .addresses = {}};
        } catch (...) {
            ends.said = {.failure = errc::bad_answer, .addresses = {}};
        }
    }
    const bool is_closed = self->closed_.stop_requested();
    if (is_closed && ends.said.failure) ends.said.failure = errc::closed;
}

std::expected<std::shared_ptr<entry>, std::error_code> resolver_state::ask_for(
    const std::shared_ptr<resolver_state>& self, const std::string& name, family of) {
    if (self->closed_.stop_requested()) return std::unexpected{make_error_code(errc::closed)};
    const answers::found found = self->known_.find({name, of}, clock::now());
    if (found.of == nullptr) return std::unexpected{make_error_code(errc::too_many)};
    if (found.is_new) {
        spawn(self->where_, fetch(self, landing{self, found.of}),
              {.name = "dns query", .stop = self->closed_.get_token(), .detached = true})
            .detach();
    }
    return found.of;
}

std::expected<resolver_state::both, std::error_code> resolver_state::ask_for(
    const std::shared_ptr<resolver_state>& self, const std::string& name) {
    both asked;
    if (self->options_.use_v6) {
        auto v6 = ask_for(self, name, family::v6);
        if (!v6) return std::unexpected{v6.error()};
        asked.v6 = std::move(*v6);
    }
    if (self->options_.use_v4) {
        auto v4 = ask_for(self, name, family::v4);
        if (!v4) return std::unexpected{v4.error()};
        asked.v4 = std::move(*v4);
    }
    return asked;
}

// --- a name --------------------------------------------------------------------------------------

void resolver_state::tell(std::vector<io::address> all, std::uint16_t port, bool complete,
                          const sink& told) const {
    for (io::address& each : all) each = with_port(each, port);
    options_.order(all);
    told(all, complete);
}

// None: there are addresses, and all that was asked has landed.
task<std::error_code> resolver_state::tell_as_they_land(both asked, std::uint16_t port,
                                                        time_point deadline, const sink& told) {
    std::vector<io::address> all;
    std::error_code failure;
    const auto take = [&](std::shared_ptr<entry>& of) {
        if (of == nullptr || !of->landed.is_set()) return false;
        all.insert(all.end(), of->said.addresses.begin(), of->said.addresses.end());
        put_weightier(failure, of->said.failure);
        of.reset();
        return true;
    };
    for (;;) {
        const bool has_v6 = take(asked.v6);
        const bool has_v4 = take(asked.v4);
        const bool complete = asked.v6 == nullptr && asked.v4 == nullptr;
        if ((has_v6 || has_v4) && !all.empty()) tell(all, port, complete, told);
        if (complete) break;
        waited<void> ended;
        if (asked.v6 != nullptr && asked.v4 != nullptr) {
            const auto keep = [&ended](waited<void> each) { ended = each; };
            const auto selected = co_await select(on(asked.v6->landed.wait(deadline), keep),
                                                  on(asked.v4->landed.wait(deadline), keep));
            if (!selected) ended = std::unexpected{selected.error()};
        } else {
            entry& last = asked.v6 != nullptr ? *asked.v6 : *asked.v4;
            ended = co_await last.landed.wait(deadline);
        }
        if (!ended) co_return io::detail::code_of(ended.error());
    }
    co_return all.empty() ? failure : std::error_code{};
}

task<std::error_code> resolver_state::find(std::shared_ptr<resolver_state> self, std::string host,
                                           std::uint16_t port, time_point deadline,
                                           const sink& told) {
    if (const auto literal = io::address::parse(host, port)) {
        told({*literal}, true);
        co_return std::error_code{};
    }
    if (!is_host_name(host)) co_return make_error_code(errc::bad_name);
    const std::string name = normalized(host);
    std::vector<io::address> known;
    if (is_localhost(name)) {
        known = loopbacks();
    } else {
        auto found = co_await self->hosts_.find(name, deadline);
        if (!found) co_return found.error();
        known = std::move(*found);
    }
    std::erase_if(known, [&self](const io::address& each) { return !self->wants(each); });
    if (!known.empty()) {
        self->tell(std::move(known), port, true, told);
        co_return std::error_code{};
    }
    if (is_localhost(name)) co_return make_error_code(errc::no_data);

    std::error_code failure = errc::no_data;  // if no family is wanted
    const std::vector<std::string> all =
        complete_names(host, self->options_.search.value_or(std::vector<std::string>{}),
                       self->options_.ndots.value_or(1));
    if (!all.empty()) failure = {};
    for (const std::string& each : all) {
        const auto asked = ask_for(self, each);
        if (!asked) co_return asked.error();
        if (asked->v6 == nullptr && asked->v4 == nullptr) co_return make_error_code(errc::no_data);
        const std::error_code ended =
            co_await self->tell_as_they_land(*asked, port, deadline, told);
        if (!ended) co_return ended;
        put_weightier(failure, ended);
        if (!goes_on(ended)) break;
    }
    co_return failure;
}

}  // namespace fairlead::dns::detail
