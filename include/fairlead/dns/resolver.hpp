// Names of hosts to addresses, with a cache, by the servers of the system.
//
//     auto resolver = fl::dns::resolver::make(scheduler);
//     auto found = co_await resolver->resolve("example.com", 443, fl::clock::now() + 5s);
//
//     literal, "localhost" -> the file of hosts -> for each complete name: the cache, or a query
//     for A and one for AAAA, which all tasks share that ask for the name -> sorted by RFC 6724
//
// A query is a task of its own. A task that waits for it ends at its deadline or its stop, and the
// query goes on: it fills the cache, or ends by its own time.
//
// The servers are asked by c-ares, without a thread. The name services of glibc, such as mDNS or
// LDAP, are not asked: bring a `query` with `getaddrinfo` for them.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/dns/errc.hpp>
#include <fairlead/dns/query.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/sched/executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead::io {
class address_feed;
}

namespace fairlead::dns {

namespace detail {
class resolver_state;
}

/// All have defaults.
struct resolver_options {
    /// Which are asked, in this order. None: those of `resolv_conf`.
    std::vector<io::address> servers = {};
    /// What is appended to names that are not complete. Nothing: as `resolv_conf` says.
    std::optional<std::vector<std::string>> search = {};
    /// A name with so many dots is tried as it is before it is completed. Nothing: as `resolv_conf`
    /// says, or 1.
    std::optional<unsigned> ndots = {};
    /// Read when the resolver is made, and not again.
    std::string resolv_conf = "/etc/resolv.conf";
    /// Names that no server is asked for. Read again when it has changed, looked at every
    /// `hosts_interval`. Empty: none.
    std::string hosts_file = "/etc/hosts";
    /// See `hosts_file`.
    duration hosts_interval = std::chrono::seconds{5};

    /// How long a server has for an answer, at the first try; twice as long at each further one.
    duration try_timeout = std::chrono::seconds{2};
    /// How often each server is asked.
    unsigned tries = 3;

    std::uint32_t queries_max = 64;  ///< under way at once
    std::size_t waiting_max = 4096;  ///< that wait for their turn; then `errc::too_many`
    std::size_t cache_max = 4096;    ///< answers that are kept; then the oldest in use goes
    std::size_t addresses_max = 64;  ///< of an answer; further ones are dropped

    /// For how long addresses are kept at least, and at most, whatever their TTL.
    duration ttl_min = std::chrono::seconds{1};
    duration ttl_max = std::chrono::hours{1};  ///< see `ttl_min`
    /// The same of `not_found` and `no_data`, whose TTL is that of RFC 2308.
    duration negative_ttl_min = std::chrono::seconds{1};
    duration negative_ttl_max = std::chrono::minutes{5};  ///< see `negative_ttl_min`
    /// For how long a failure of the servers is kept, so that not each task has to wait for it.
    duration failure_ttl = std::chrono::seconds{1};

    bool use_v4 = true;  ///< ask for IPv4 addresses
    bool use_v6 = true;  ///< ask for IPv6 addresses

    /// Asks in place of c-ares; then `servers`, `try_timeout` and `tries` do not count, and
    /// `resolv_conf` is not read.
    query by = {};
    /// Sorts addresses, the best first. Nothing: `sort_by_system`. It must not throw anything but
    /// `std::bad_alloc`. Any task, several at once.
    std::function<void(std::vector<io::address>&)> order = {};
};

/// What a resolver has done so far.
struct resolver_stats {
    std::uint64_t hits = 0;     ///< answers that were in the cache
    std::uint64_t joined = 0;   ///< waits for a query that was under way
    std::uint64_t queries = 0;  ///< queries that were begun
    std::size_t under_way = 0;  ///< queries now, with those that wait for their turn
    std::size_t kept = 0;       ///< answers in the cache now, with those that hold no longer
};

/// Finds addresses. Any task, on any scheduler, many at once. To be destroyed before the scheduler
/// it was made with: calls under way end with `errc::closed` then.
class resolver {
public:
    /// Queries run at `where`, whose scheduler needs an `epoll_driver` unless the options bring
    /// their own query. Errors: those of epoll_create1, `not_enough_memory`; `invalid_argument` for
    /// a server with a port of 0 or servers that c-ares refuses; `errc::bad_name` for a domain of
    /// `search`. Reads a file. Throws `std::bad_alloc`.
    [[nodiscard]] static std::expected<resolver, std::error_code> make(
        executor where, resolver_options options = {});
    /// Takes over the resolver; `other` may only be destroyed or assigned to then. No call may be
    /// under way.
    resolver(resolver&& other) noexcept;
    /// The same; its own ends before.
    resolver& operator=(resolver&& other) noexcept;
    /// Ends all queries. Calls under way end with `errc::closed`.
    ~resolver();

    /// The addresses of `host` with this port, the best first; at least one. A literal address, of
    /// IPv6 without brackets, is itself; "localhost" and names that end in ".localhost" are the
    /// loopback. A name that ends with a dot is complete.
    ///
    /// If the deadline or a stop comes while addresses of one family are there, gives these.
    /// Errors: those of `errc` and of waits. Throws `std::bad_alloc`.
    [[nodiscard]] task<std::expected<std::vector<io::address>, std::error_code>> resolve(
        std::string host, std::uint16_t port, time_point deadline = never);

    /// The same into a feed, as the answers come: what `connect` does. None, or why there are no
    /// addresses. The feed has ended then, and must outlive the task.
    [[nodiscard]] task<std::error_code> resolve_into(io::address_feed& feed, std::string host,
                                                     std::uint16_t port,
                                                     time_point deadline = never);

    /// Forgets all answers. Queries under way go on. Any thread.
    void clear() noexcept;

    /// The counters, as they are now. Any thread.
    [[nodiscard]] resolver_stats stats() const;

private:
    explicit resolver(std::shared_ptr<detail::resolver_state> state) noexcept;

    std::shared_ptr<detail::resolver_state> state_;
};

}  // namespace fairlead::dns
