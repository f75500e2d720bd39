#include <fairlead/http/print.hpp>

#include <fairlead/detail/base/assert.hpp>

#include "http/grammar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace fairlead::http {
namespace {

void append_number(std::string& to, std::uint64_t number, int base = 10) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
    to.append(digits.data(), end);
}

// RFC 9110, 15, and the registry of IANA. In order of the status.
constexpr auto reasons = std::to_array<std::pair<int, std::string_view>>({
    {100, "Continue"},
    {101, "Switching Protocols"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
});

}  // namespace

std::string_view reason_of(int status) noexcept {
    const auto found =
        std::ranges::lower_bound(reasons, status, {}, &std::pair<int, std::string_view>::first);
    return found != reasons.end() && found->first == status ? found->second : std::string_view{};
}

void print_status_line(std::string& to, int status) {
    FAIRLEAD_ASSERT(status >= 100 && status <= 999, "a status has three digits");
    if (status == 200) {  // most of them
        to.append("HTTP/1.1 200 OK\r\n");
        return;
    }
    to.append("HTTP/1.1 ");
    append_number(to, static_cast<std::uint64_t>(status));
    to.append(" ").append(reason_of(status)).append("\r\n");
}

void print_request_line(std::string& to, std::string_view method, std::string_view target) {
    FAIRLEAD_ASSERT(is_method(method) && is_target(method, target),
                    "a request line is a method and a target");
    to.append(method).append(" ").append(target).append(" HTTP/1.1\r\n");
}

void print_field(std::string& to, std::string_view name, std::string_view value) {
    FAIRLEAD_ASSERT(field_list::is_name(name) && field_list::is_value(value),
                    "a field is a token and a value without control characters");
    to.append(name).append(": ").append(value).append("\r\n");
}

void print_fields(std::string& to, const fields& fields) { to.append(fields.lines()); }

void print_framing(std::string& to, const framing& body) {
    if (body.how == framing::kind::chunked) {
        to.append("Transfer-Encoding: chunked\r\n");
    } else if (body.how == framing::kind::length) {
        to.append("Content-Length: ");
        append_number(to, body.size);
        to.append("\r\n");
    }
}

void print_end(std::string& to) { to.append("\r\n"); }

void print_chunk_size(std::string& to, std::size_t size) {
    FAIRLEAD_ASSERT(size != 0, "a chunk without data would end the body");
    append_number(to, size, 16);
    to.append("\r\n");
}

void print_chunk(std::string& to, std::string_view data) {
    if (data.empty()) return;
    print_chunk_size(to, data.size());
    to.append(data).append("\r\n");
}

bool is_method(std::string_view method) noexcept { return grammar::is_token(method); }

bool is_target(std::string_view method, std::string_view target) noexcept {
    return grammar::is_target(method, target);
}

}  // namespace fairlead::http
