// What a resolver asks: one name, for the addresses of one family.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/address.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead::dns {

/// Which addresses.
enum class family : std::uint8_t {
    v4,  ///< A records
    v6   ///< AAAA records
};

/// What is known of a name.
struct answer {
    std::error_code failure;             ///< none: there are addresses
    std::vector<io::address> addresses;  ///< their ports count for nothing
    /// For how long it holds. Nothing: the answer does not say.
    std::optional<duration> ttl = {};
};

/// Finds the addresses of a name, which is complete and in small letters. Without another query a
/// resolver asks the servers of the system; a program can bring `getaddrinfo` on a thread, or a
/// table in a test. Called on the scheduler of the resolver, for several names at once. It ends
/// when it is asked to stop. What it throws is told as `not_enough_memory` or `bad_answer`.
using query = std::function<task<answer>(std::string name, family of)>;

}  // namespace fairlead::dns
