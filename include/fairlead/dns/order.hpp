// The order in which addresses are worth trying.
#pragma once

#include <fairlead/io/address.hpp>

#include <optional>
#include <vector>

namespace fairlead::dns {

/// An address, and the address of this machine from which it would be reached.
struct destination {
    io::address to;                   ///< where
    std::optional<io::address> from;  ///< nothing: there is no way to it
};

/// Sorts by RFC 6724, without the rules 3, 4 and 7, of which the system tells nothing, and rule 9
/// for IPv6 alone, because for IPv4 it would undo the rotation of the servers. Equal ones keep
/// their order. Throws `std::bad_alloc`.
void sort(std::vector<destination>& all);

/// The same, and asks the system from where it would reach each: three calls for an address, and no
/// packet is sent. Throws `std::bad_alloc`.
void sort_by_system(std::vector<io::address>& all);

}  // namespace fairlead::dns
