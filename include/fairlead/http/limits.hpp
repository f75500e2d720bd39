// How large the parts of a message may be.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::http {

/// The limits of a message that comes from a peer. A part that is exactly as large is accepted.
struct limits {
    /// Of the first line and of each field, in bytes, with the line end. A higher value costs
    /// memory for each connection that sends such a line.
    std::size_t line_max = 8192;
    /// Of the first line and all fields together, in bytes. At least `line_max` makes sense.
    std::size_t head_max = 16384;
    std::size_t fields_max = 100;  ///< how many fields
    /// Of a body, in bytes, without the framing. A handler that collects the body pays
    /// for a high value.
    std::uint64_t body_max = std::uint64_t{4} << 20;
    std::size_t extensions_max = 1024;  ///< of the extensions of all chunks of a body, in bytes
    std::size_t trailers_max = 4096;    ///< of the lines after the last chunk, in bytes
    unsigned interim_max = 8;           ///< how many answers with a status 1xx a client skips
};

}  // namespace fairlead::http
