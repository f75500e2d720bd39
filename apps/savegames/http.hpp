// HTTP/1.1 as bytes: requests are parsed, answers are printed. No sockets, no coroutines.
//
// The parser is Boost.Beast's, hidden in http.cpp, which is slow to compile. Around it stand the
// rules that it leaves to its user: limits on the whole head and on the lines around chunks, one
// well-formed Host, no transfer coding but chunked, no body before the service has looked at the
// head. A proxy in front of the service may read a request in another way than Beast; so a head
// that can be read in two ways is refused: a line that continues the line before it, a length that
// is given twice, a length beside a transfer coding.
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
    // Bytes of the request line and the fields; and of the lines before one chunk, or after the
    // last.
    std::size_t head_max = std::size_t{16} << 10;
    std::size_t body_max = std::size_t{4} << 20;
};

// What the first part of a request says.
struct http_head {
    std::string method;  // as written: "GET"
    std::string target;  // as written: "/games/chess/saves/anna?x=1"
    std::string host;
    std::string authorization;
    bool http_1_0 = false;
    bool keep_alive = false;
    bool expects_continue = false;
    bool has_origin = false;  // a browser sends it for the script of a page
    bool has_body = false;
    std::optional<std::uint64_t> body_size;  // of a body that is not chunked
};

// Why a request cannot be understood. The connection ends with the answer.
struct http_failure {
    int status = 0;
    std::string_view code;  // for the "error" field
    std::string_view message;
};

// Parses one request after the other. One thread at a time.
class http_parser {
public:
    enum class stage : std::uint8_t {
        head,      // the head is not complete
        body,      // the head is there; whether its body is wanted is to be decided now
        complete,  // the request is there
        failed,    // see `failure`; nothing more can be parsed
    };

    explicit http_parser(const http_limits& limits);
    ~http_parser();
    http_parser(const http_parser&) = delete;
    http_parser& operator=(const http_parser&) = delete;

    // Takes as much of `bytes` as it can use, at most to the end of the stage; returns how much.
    // What it does not take must be fed again, with more after it. Throws std::bad_alloc.
    [[nodiscard]] std::size_t feed(std::span<const std::byte> bytes);

    [[nodiscard]] stage at() const noexcept { return stage_; }

    // Whether nothing of the request has come yet.
    [[nodiscard]] bool untouched() const noexcept { return stage_ == stage::head && !begun_; }

    // Not at stage head.
    [[nodiscard]] const http_head& head() const noexcept { return head_; }

    // At stage complete.
    [[nodiscard]] std::string take_body();

    // At stage failed.
    [[nodiscard]] const http_failure& failure() const noexcept { return failure_; }

    // Ready for the next request.
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
    std::size_t line_size_ = 0;  // of these, in the last line
    bool head_seen_ = false;     // by `scan_lines`, to its end
    bool begun_ = false;         // some of the head has come
    stage stage_ = stage::head;
};

// How an answer is framed.
struct http_framing {
    bool keep_alive = true;
    bool http_1_0 = false;   // the client's version: it must be told that the connection stays
    bool head_only = false;  // HEAD: the fields of a body, without it
};

// The head of an answer, and its body if it is short; a body of more than `inline_max` bytes is to
// be sent after it.
inline constexpr std::size_t inline_max = std::size_t{16} << 10;
[[nodiscard]] std::string print_answer(const response& answer, const http_framing& framing);

}  // namespace savegames
