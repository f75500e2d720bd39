// HTTP responses out of a stream of bytes. One thread at a time.
//
//     reader.start();
//     do { n = read into reader.room(); } while (reader.take(n) == state::incomplete);
//     use reader.response()
//
// The parser behind it is hidden, because compiling it takes longer than all the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace savegames::load {

struct http_response {
    int status = 0;
    std::uint64_t version = 0;  // Save-Version; 0: none
    std::string checksum{};     // Save-Checksum
    std::string body{};
    bool keep_alive = true;  // the connection can be used again
};

class response_reader {
public:
    enum class state : std::uint8_t { incomplete, complete, malformed };

    response_reader();
    ~response_reader();

    // Before each response. Forgets what was left of the last one: requests are not pipelined.
    void start();

    // Where the next bytes go. Never empty.
    [[nodiscard]] std::span<std::byte> room();

    // `size` bytes were put there; 0: the peer has closed, which ends a response without a length.
    [[nodiscard]] state take(std::size_t size);

    // Once complete, until `start`.
    [[nodiscard]] const http_response& response() const;

    // Whether any byte of this response has come.
    [[nodiscard]] bool has_begun() const;

private:
    class parser;
    std::unique_ptr<parser> parser_;
};

}  // namespace savegames::load
