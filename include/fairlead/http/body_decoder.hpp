// Takes the framing off a body: by length, in chunks, or until the peer ends.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/http/errc.hpp>
#include <fairlead/http/head.hpp>
#include <fairlead/http/limits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

namespace fairlead::http {

/// Decodes one body, in whatever pieces it comes. Copies nothing, allocates nothing. Drops the
/// extensions of chunks and the trailers, after it has checked them. A trailer must not be a field
/// that frames or routes the message: Content-Length, Transfer-Encoding, Connection, Host. One
/// thread at a time.
class body_decoder {
public:
    /// No body: it is at its end.
    body_decoder() = default;
    /// Of a message with that framing. Refuses what exceeds `limits`.
    explicit body_decoder(const framing& body, const limits& limits = {}) noexcept;

    /// What a call of `decode` has found.
    struct piece {
        std::size_t taken = 0;  ///< how many bytes of the input are used up
        std::string_view data;  ///< bytes of the body, in the input; may be empty
    };

    /// Decodes the beginning of `input`, up to the end of one chunk. Call it again with the rest of
    /// the input until it takes nothing more. An error stays.
    [[nodiscard]] std::expected<piece, errc> decode(std::string_view input) noexcept;

    /// The peer has ended. `incomplete`: in the middle of the body.
    [[nodiscard]] errc end_of_input() noexcept;

    /// Whether the body is complete. The next byte of the input belongs to the next message.
    [[nodiscard]] bool done() const noexcept { return state_ == state::done; }

    /// How many bytes are to come, if the head has told; else nothing is known, and it gives the
    /// limit.
    [[nodiscard]] std::uint64_t rest_max() const noexcept;

private:
    // Of the parts of a chunk. `line_end`: CR has come, LF must come.
    enum class state : std::uint8_t {
        done,
        failed,
        length,
        until_close,
        size_first,
        size,
        extension_space,
        extension_name_begin,
        extension_name,
        after_name,
        extension_value_begin,
        extension_value,
        quoted,
        quoted_pair,
        after_value,
        size_line_end,
        data,
        data_cr,
        data_lf,
        trailer_begin,
        trailer_name,
        trailer_value,
        trailer_line_end,
        last_line_end,
    };

    [[nodiscard]] errc take(unsigned char byte) noexcept;
    [[nodiscard]] errc take_size(unsigned char byte) noexcept;
    [[nodiscard]] errc take_extension(unsigned char byte) noexcept;
    [[nodiscard]] errc take_trailer(unsigned char byte) noexcept;
    [[nodiscard]] errc begin_chunk() noexcept;
    [[nodiscard]] errc end_or_next_extension(unsigned char byte) noexcept;
    [[nodiscard]] std::expected<piece, errc> take_data(std::string_view input,
                                                       std::size_t framing) noexcept;
    errc fail(errc why) noexcept;

    std::uint64_t left_ = 0;  // of the body by length, or of the chunk
    std::uint64_t room_ = 0;  // what the body may still have
    std::size_t extensions_ = 0;
    std::size_t extensions_max_ = 0;
    std::size_t trailers_ = 0;
    std::size_t trailers_max_ = 0;
    unsigned digits_ = 0;
    std::size_t name_size_ = 0;
    std::array<char, 17> name_{};  // of a trailer: enough to know the names that are refused
    state state_ = state::done;
    errc error_ = errc::none;
};

}  // namespace fairlead::http
