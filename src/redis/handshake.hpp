// The first commands of a connection: HELLO, or what a server without it takes instead; AUTH, the
// name, and SELECT.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/redis/client_options.hpp>
#include <fairlead/redis/connector.hpp>
#include <fairlead/redis/error.hpp>
#include <fairlead/redis/parser.hpp>

namespace fairlead::redis::detail {

/// Whether the connection speaks RESP3; or why it is of no use.
[[nodiscard]] task<result<bool>> greet(any_stream& stream, parser& replies,
                                       const client_options& options, time_point deadline);

}  // namespace fairlead::redis::detail
