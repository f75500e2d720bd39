#include <fairlead/http/body_decoder.hpp>

#include "http/grammar.hpp"

#include <algorithm>

namespace fairlead::http {
namespace {

using grammar::class_of;

// A body of 2^64 bytes is beyond every limit.
constexpr unsigned size_digits_max = 16;

// RFC 9110, 6.5.1: fields that frame or route a message must not be trailers.
bool is_refused_trailer(std::string_view name) noexcept {
    for (const std::string_view each :
         {"content-length", "transfer-encoding", "connection", "host"}) {
        if (same_name(name, each)) return true;
    }
    return false;
}

}  // namespace

body_decoder::body_decoder(const framing& body, const limits& limits) noexcept
    : room_{limits.body_max},
      extensions_max_{limits.extensions_max},
      trailers_max_{limits.trailers_max} {
    switch (body.how) {
        case framing::kind::none:
            break;
        case framing::kind::length:
            left_ = body.size;
            state_ = left_ == 0 ? state::done : state::length;
            if (left_ > room_) fail(errc::body_too_large);
            break;
        case framing::kind::chunked:
            state_ = state::size_first;
            break;
        case framing::kind::until_close:
            state_ = state::until_close;
            break;
    }
}

errc body_decoder::fail(errc why) noexcept {
    state_ = state::failed;
    error_ = why;
    return why;
}

std::uint64_t body_decoder::rest_max() const noexcept {
    if (state_ == state::done) return 0;
    return state_ == state::length ? left_ : room_;
}

errc body_decoder::end_of_input() noexcept {
    if (state_ == state::failed) return error_;
    if (state_ == state::until_close) state_ = state::done;
    return state_ == state::done ? errc::none : fail(errc::incomplete);
}

std::expected<body_decoder::piece, errc> body_decoder::decode(std::string_view input) noexcept {
    if (state_ == state::failed) return std::unexpected{error_};
    std::size_t framing = 0;
    while (framing != input.size()) {
        if (state_ == state::done) break;
        if (state_ == state::length || state_ == state::data || state_ == state::until_close) {
            return take_data(input, framing);
        }
        const errc error = take(static_cast<unsigned char>(input[framing]));
        if (error != errc::none) return std::unexpected{fail(error)};
        ++framing;
    }
    return piece{framing, {}};
}

// `framing`: how many bytes of the input come before the data.
std::expected<body_decoder::piece, errc> body_decoder::take_data(std::string_view input,
                                                                 std::size_t framing) noexcept {
    std::string_view data = input.substr(framing);
    if (state_ == state::until_close) {
        if (room_ == 0) return std::unexpected{fail(errc::body_too_large)};
        data = data.substr(0, room_);
        room_ -= data.size();
        return piece{framing + data.size(), data};
    }
    data = data.substr(0, left_);
    left_ -= data.size();
    if (left_ == 0) state_ = state_ == state::length ? state::done : state::data_cr;
    return piece{framing + data.size(), data};
}

errc body_decoder::take(unsigned char byte) noexcept {
    switch (state_) {
        case state::size_first:
        case state::size:
            return take_size(byte);
        case state::size_line_end:
            if (byte != '\n') return errc::bad_line_end;
            return begin_chunk();
        case state::data_cr:
            state_ = state::data_lf;
            return byte == '\r' ? errc::none : errc::bad_chunk_end;
        case state::data_lf:
            state_ = state::size_first;
            return byte == '\n' ? errc::none : errc::bad_chunk_end;
        case state::trailer_begin:
        case state::trailer_name:
        case state::trailer_value:
        case state::trailer_line_end:
        case state::last_line_end:
            return take_trailer(byte);
        default:
            return take_extension(byte);
    }
}

errc body_decoder::take_size(unsigned char byte) noexcept {
    const unsigned digit = grammar::hex_value(static_cast<char>(byte));
    if (state_ == state::size_first) {
        if (digit == 16) return errc::bad_chunk_size;
        left_ = 0;
        digits_ = 0;
        state_ = state::size;
    }
    if (digit != 16) {
        if (++digits_ > size_digits_max) return errc::bad_chunk_size;
        left_ = left_ * 16 + digit;
        return errc::none;
    }
    if (byte == '\n') return errc::bad_line_end;
    if (byte == '\r') {
        state_ = state::size_line_end;
        return errc::none;
    }
    if (byte != ';' && !grammar::is_blank(static_cast<char>(byte))) return errc::bad_chunk_size;
    return take_extension(byte);
}

errc body_decoder::begin_chunk() noexcept {
    if (left_ > room_) return errc::body_too_large;
    room_ -= left_;
    state_ = left_ == 0 ? state::trailer_begin : state::data;
    return errc::none;
}

// Where an extension may end.
errc body_decoder::end_or_next_extension(unsigned char byte) noexcept {
    if (byte == '\r') {
        state_ = state::size_line_end;
    } else if (byte == ';') {
        state_ = state::extension_name_begin;
    } else if (grammar::is_blank(static_cast<char>(byte))) {
        state_ = state::extension_space;
    } else {
        return byte == '\n' ? errc::bad_line_end : errc::bad_chunk_extension;
    }
    return errc::none;
}

// RFC 9112, 7.1.1: *( BWS ";" BWS name [ BWS "=" BWS value ] ), a value being a token or quoted.
errc body_decoder::take_extension(unsigned char byte) noexcept {
    if (++extensions_ > extensions_max_) return errc::extensions_too_large;
    const bool blank = grammar::is_blank(static_cast<char>(byte));
    const bool token = grammar::is(byte, class_of::token_char);
    const auto to = [this](state next) {
        state_ = next;
        return errc::none;
    };
    switch (state_) {
        case state::size:
        case state::after_value:
            return end_or_next_extension(byte);
        case state::extension_space:
            if (blank) return errc::none;
            if (byte == ';') return to(state::extension_name_begin);
            break;
        case state::extension_name_begin:
            if (blank) return errc::none;
            if (token) return to(state::extension_name);
            break;
        case state::extension_name:
            if (token) return errc::none;
            if (byte == '=') return to(state::extension_value_begin);
            if (blank) return to(state::after_name);
            return end_or_next_extension(byte);
        case state::after_name:
            if (blank) return errc::none;
            if (byte == '=') return to(state::extension_value_begin);
            if (byte == ';') return to(state::extension_name_begin);
            break;
        case state::extension_value_begin:
            if (blank) return errc::none;
            if (byte == '"') return to(state::quoted);
            if (token) return to(state::extension_value);
            break;
        case state::extension_value:
            if (token) return errc::none;
            return end_or_next_extension(byte);
        case state::quoted:
            if (byte == '"') return to(state::after_value);
            if (byte == '\\') return to(state::quoted_pair);
            if (grammar::is(byte, class_of::value_char)) return errc::none;
            break;
        case state::quoted_pair:
            if (grammar::is(byte, class_of::value_char)) return to(state::quoted);
            break;
        default:
            break;
    }
    return byte == '\n' ? errc::bad_line_end : errc::bad_chunk_extension;
}

errc body_decoder::take_trailer(unsigned char byte) noexcept {
    if (++trailers_ > trailers_max_ + 2) return errc::trailers_too_large;  // 2: the last line
    const bool token = grammar::is(byte, class_of::token_char);
    const auto to = [this](state next) {
        state_ = next;
        return errc::none;
    };
    if (state_ == state::trailer_begin) {
        if (byte == '\r') return to(state::last_line_end);
        name_size_ = 0;
    } else if (state_ == state::trailer_value) {
        if (byte == '\r') return to(state::trailer_line_end);
        if (grammar::is(byte, class_of::value_char)) return errc::none;
    } else if (state_ != state::trailer_name) {
        if (byte != '\n') return errc::bad_line_end;
        return to(state_ == state::last_line_end ? state::done : state::trailer_begin);
    }
    if (state_ != state::trailer_value && token) {
        if (name_size_ < name_.size()) name_[name_size_] = static_cast<char>(byte);
        ++name_size_;
        return to(state::trailer_name);
    }
    if (state_ == state::trailer_name) {
        const std::string_view name{name_.data(), std::min(name_size_, name_.size())};
        const bool refused = name_size_ == name.size() && is_refused_trailer(name);
        if (byte == ':' && !refused) return to(state::trailer_value);
    }
    return byte == '\n' ? errc::bad_line_end : errc::bad_trailer;
}

}  // namespace fairlead::http
