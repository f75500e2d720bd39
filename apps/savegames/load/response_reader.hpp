// Reads HTTP responses from a stream of bytes. One thread at a time.
//
//     reader.start();
//     do { n = read into reader.room(); } while (reader.take(n) == state::incomplete);
//     use reader.response()
//
// The parser is hidden in the .cpp file, because it compiles slowly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace savegames::load {

struct http_response {
    int status = 0;
    std::uint64_t version = 0;  // Save-Version; 0: there is none
    std::string checksum{};     // Save-Checksum
    std::string body{};
    bool keep_alive = true;  // another request may use the connection
};

class response_reader {
public:
    enum class state : std::uint8_t { incomplete, complete, malformed };

    response_reader();
    ~response_reader();

    // Call it before each response. Drops bytes left of the last one: requests are not pipelined.
    void start();

    // Where the next bytes must be put. Never empty.
    [[nodiscard]] std::span<std::byte> room();

    // Parses the `size` bytes in `room`. 0: the peer has closed the connection, which ends a
    // response without a length.
    [[nodiscard]] state take(std::size_t size);

    // Requires that the response is complete. Lives until `start`.
    [[nodiscard]] const http_response& response() const;

    // Whether any byte of this response has come.
    [[nodiscard]] bool has_begun() const;

private:
    class parser;
    std::unique_ptr<parser> parser_;
};

}  // namespace savegames::load
