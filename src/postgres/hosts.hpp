// The hosts of a connect string, with addresses in place of their names: so that the library, which
// would resolve a name while it holds a thread, has none to resolve.
//
//     host=a,/run,b port=1     a: 10.0.0.1 10.0.0.2     b: no address
//     host=a,a,/run hostaddr=10.0.0.1,10.0.0.2, port=1,1,1
//
// TLS and the password file look at the name, the connection goes to the address.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/pool_options.hpp>

#include <optional>
#include <string>

namespace fairlead::postgres::detail {

/// Lists in the form of the library: divided by commas, of the same length.
struct host_lists {
    std::string host;
    std::string hostaddr;
    std::string port;
};

/// Nothing: the library is to take the string as it is, because there is no name in it, or what it
/// has stands elsewhere: in a service file, or in `hostaddr`. A name without addresses is left out.
/// Error: no host is left.
[[nodiscard]] task<result<std::optional<host_lists>>> resolve_hosts(const std::string& conninfo,
                                                                    const name_resolver& by,
                                                                    time_point deadline);

}  // namespace fairlead::postgres::detail
