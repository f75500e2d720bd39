// A connection to a host by its name: RFC 8305, with the queries beside the attempts.
//
//     auto stream = co_await fl::dns::connect(resolver, "example.com", 443, deadline);
//
// The first attempt begins when the IPv6 addresses have come, or 50 ms after the IPv4 ones.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/io/connect.hpp>

#include <cstdint>
#include <string>

namespace fairlead::dns {

/// Connects to the first address of `host` that answers, on the scheduler of the task. Errors:
/// those of `resolver::resolve` if there is no address, and of `io::connect_any`. Allocates, and
/// throws `std::bad_alloc`.
[[nodiscard]] task<io::connect_result> connect(resolver& by, std::string host, std::uint16_t port,
                                               time_point deadline = never,
                                               io::connect_options options = {});

/// The same as a function, for clients that take one: `http::tcp_connector(by_name(resolver))`,
/// `redis::connect_tcp(by_name(resolver), "redis.internal", 6379)`. The resolver must outlive it.
/// Of an error it gives the code alone.
[[nodiscard]] io::name_connector by_name(resolver& by, io::connect_options options = {});

}  // namespace fairlead::dns
