#include "savegames/load/response_reader.hpp"

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace savegames::load {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t buffer_size = std::size_t{64} << 10;
constexpr std::uint64_t body_size_max = std::uint64_t{1} << 30;

}  // namespace

class response_reader::parser {
public:
    parser() : buffer_(buffer_size) {}

    void start() {
        std::string body = std::move(response_.body);  // to use its memory again
        body.clear();
        response_ = {};
        message_.emplace();
        message_->eager(true);
        message_->body_limit(body_size_max);
        message_->get().body() = std::move(body);
        begin_ = end_ = 0;
        has_begun_ = false;
    }

    std::span<std::byte> room() {
        // The rest of an unfinished header moves to the front, which leaves room to read more.
        if (begin_ > 0) {
            std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
        }
        // Never empty: the parser refuses a header before the header fills the buffer.
        return std::span{buffer_}.subspan(end_);
    }

    state take(std::size_t size) {
        boost::system::error_code failed;
        if (size == 0) {
            if (!has_begun_) return state::malformed;  // put_eof would report a complete response
            message_->put_eof(failed);
            return failed || !message_->is_done() ? state::malformed : finish();
        }
        has_begun_ = true;
        end_ += size;
        while (begin_ != end_ && !message_->is_done()) {
            const std::size_t used = message_->put(
                boost::asio::const_buffer{buffer_.data() + begin_, end_ - begin_}, failed);
            begin_ += used;
            if (failed == http::error::need_more) break;
            if (failed) return state::malformed;
        }
        if (begin_ == end_) begin_ = end_ = 0;
        if (message_->is_done()) return finish();
        return end_ - begin_ == buffer_.size() ? state::malformed : state::incomplete;
    }

    const http_response& response() const { return response_; }
    bool has_begun() const { return has_begun_; }

private:
    state finish() {
        auto& message = message_->get();
        response_.status = static_cast<int>(message.result_int());
        response_.keep_alive = message_->keep_alive();
        const auto checksum = message["Save-Checksum"];
        response_.checksum.assign(checksum.data(), checksum.size());
        const auto version = message["Save-Version"];
        const char* const end = version.data() + version.size();
        const auto [stop, code] = std::from_chars(version.data(), end, response_.version);
        if (code != std::errc{} || stop != end) response_.version = 0;
        response_.body = std::move(message.body());
        return state::complete;
    }

    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0;  // [begin_, end_) was not parsed yet
    std::size_t end_ = 0;
    std::optional<http::response_parser<http::string_body>> message_;
    http_response response_;
    bool has_begun_ = false;
};

response_reader::response_reader() : parser_{std::make_unique<parser>()} {}
response_reader::~response_reader() = default;

void response_reader::start() { parser_->start(); }
std::span<std::byte> response_reader::room() { return parser_->room(); }
response_reader::state response_reader::take(std::size_t size) { return parser_->take(size); }
const http_response& response_reader::response() const { return parser_->response(); }
bool response_reader::has_begun() const { return parser_->has_begun(); }

}  // namespace savegames::load
