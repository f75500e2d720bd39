// HTTP/1.1 as bytes: parses requests and prints answers. No sockets, no coroutines.
//
// Boost.Beast does the parsing. It is hidden in http.cpp, because it compiles slowly. This file
// adds the rules that Beast leaves to its user: limits on the whole head and on the lines around
// chunks; one well-formed Host field; no transfer coding but chunked; no body before the service
// has looked at the head.
//
// A proxy in front of the service may read a request in another way than Beast. So the parser
// refuses a head that can be read in two ways: a line that continues the line before it, a length
// that is given twice, a length beside a transfer coding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "savegames/job.hpp"

namespace savegames {

struct http_limits {
    // The limit of the request line and the fields, in bytes. The same limit holds for the lines
    // before one chunk of a body, and for the lines after the last chunk.
    std::size_t head_max = std::size_t{16} << 10;
    std::size_t body_max = std::size_t{4} << 20;
};

// The contents of the request line and of the fields that matter here.
struct http_head {
    std::string method;  // as written: "GET"
    std::string target;  // as written: "/games/chess/saves/anna?x=1"
    std::string host;
    std::string authorization;
    std::string request_timeout;  // X-Request-Timeout; several give a text that is no number
    std::string traceparent;      // several are none
    bool http_1_0 = false;
    bool keep_alive = false;
    bool expects_continue = false;
    bool has_origin = false;  // there is an Origin field: a script of a web page sent the request
    bool has_body = false;
    std::optional<std::uint64_t> body_size;  // of a body that is not chunked
};

// Why a request cannot be parsed. The service answers with this, and closes the connection.
struct http_failure {
    int status = 0;
    std::string_view code;  // for the "error" field
    std::string_view message;
};

// Parses one request after another. One thread at a time.
class http_parser {
public:
    enum class stage : std::uint8_t {
        head,      // the head is not complete
        body,      // the head is complete; the caller decides whether it wants the body
        complete,  // the request is complete
        failed,    // see `failure`; the parser can parse nothing more
    };

    explicit http_parser(const http_limits& limits);
    ~http_parser();
    http_parser(const http_parser&) = delete;
    http_parser& operator=(const http_parser&) = delete;

    // Parses `bytes`, at most to the end of the stage, and returns how many it took. Pass the rest
    // again, followed by new bytes. Throws std::bad_alloc.
    [[nodiscard]] std::size_t feed(std::span<const std::byte> bytes);

    [[nodiscard]] stage at() const noexcept { return stage_; }

    // Whether no byte of the request has come yet.
    [[nodiscard]] bool untouched() const noexcept { return stage_ == stage::head && !begun_; }

    // Requires that the stage is not `head`.
    [[nodiscard]] const http_head& head() const noexcept { return head_; }

    // Requires the stage `complete`.
    [[nodiscard]] std::string take_body();

    // Requires the stage `failed`.
    [[nodiscard]] const http_failure& failure() const noexcept { return failure_; }

    // Makes the parser ready for the next request.
    void reset();

private:
    struct parser;

    std::size_t feed_head(std::span<const std::byte> bytes);
    std::size_t feed_body(std::span<const std::byte> bytes);
    bool scan_lines(std::span<const std::byte> bytes);
    void finish_head();
    void fail(int status, std::string_view code, std::string_view message);

    const http_limits limits_;
    std::unique_ptr<parser> parser_;
    http_head head_;
    http_failure failure_;
    std::size_t used_ = 0;       // bytes of the head that are parsed
    std::size_t scanned_ = 0;    // bytes of the head that `scan_lines` has seen
    std::size_t line_size_ = 0;  // how many of these belong to the last line
    bool head_seen_ = false;     // `scan_lines` has seen the whole head
    bool begun_ = false;         // some of the head has come
    stage stage_ = stage::head;
};

// How an answer is printed.
struct http_framing {
    bool keep_alive = true;
    bool http_1_0 = false;   // of the client: "keep-alive" must be said in the answer
    bool head_only = false;  // the request was HEAD: print the fields of the body, not the body
};

// Prints the head of an answer, and the body if it has at most `inline_max` bytes. The caller sends
// a longer body after the head.
inline constexpr std::size_t inline_max = std::size_t{16} << 10;
[[nodiscard]] std::string print_answer(const response& answer, const http_framing& framing);

}  // namespace savegames
