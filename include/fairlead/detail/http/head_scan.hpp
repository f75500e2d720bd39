// What the parsers of requests and responses share: lines, and what the fields say of the framing.
//
// A parser keeps offsets into the received bytes, not views: the buffer of its caller may move
// while a head arrives. Each rule looks at complete lines alone, in their order, and each limit at
// a fixed offset. So what a parser finds does not depend on the pieces in which the bytes come.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/http/errc.hpp>
#include <fairlead/http/head.hpp>
#include <fairlead/http/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlead::http::detail {

// The offsets of a part of the head.
struct part {
    std::size_t begin = 0;
    std::size_t size = 0;

    [[nodiscard]] std::string_view in(std::string_view received) const noexcept {
        return received.substr(begin, size);
    }
};

// What the fields say of the framing and of the connection.
class field_facts {
public:
    // Checks one line, of which `received` begins with the head.
    [[nodiscard]] errc take(std::string_view line, std::size_t at, const limits& limits) noexcept;

    // The rules that hold for requests and responses. Gives the framing as the fields say it.
    [[nodiscard]] errc check(version version, framing& body) const noexcept;

    [[nodiscard]] bool keeps_alive(version version) const noexcept {
        return !close_ && (version == version::http_1_1 || keep_alive_);
    }
    [[nodiscard]] unsigned hosts() const noexcept { return hosts_; }
    [[nodiscard]] part host() const noexcept { return host_; }
    [[nodiscard]] unsigned expectations() const noexcept { return expectations_; }
    [[nodiscard]] bool expects_continue() const noexcept { return continue_; }

private:
    [[nodiscard]] errc take_connection(std::string_view value) noexcept;
    void take_length(std::string_view value) noexcept;
    void take_coding(std::string_view value) noexcept;

    std::uint64_t length_ = 0;
    part host_;
    std::size_t count_ = 0;
    unsigned lengths_ = 0;
    unsigned codings_ = 0;
    unsigned hosts_ = 0;
    unsigned expectations_ = 0;
    bool bad_length_ = false;
    bool empty_coding_ = false;
    bool chunked_ = false;
    bool close_ = false;
    bool keep_alive_ = false;
    bool continue_ = false;
};

// Goes through a head line by line, and stops where its parser is to look.
class head_scan {
public:
    enum class found : std::uint8_t {
        nothing,     // more must come
        start_line,  // in `line`; followed by another one until `begin_fields`
        end,         // of the fields; `end_fields` completes the head
        complete,
        failure,
    };

    [[nodiscard]] found next(std::string_view received, const limits& limits) noexcept;

    // What `next` has found, without its CRLF.
    [[nodiscard]] part line() const noexcept { return line_; }
    // The start line was this one. `none`: it is well formed.
    void begin_fields(errc wrong) noexcept {
        fields_begin_ = taken_;
        failure_ = wrong;
    }
    // `none`: the fields fit together.
    void end_fields(errc wrong) noexcept {
        fields_end_ = line_.begin;
        failure_ = wrong;
    }

    [[nodiscard]] errc failure() const noexcept { return failure_; }
    [[nodiscard]] const field_facts& facts() const noexcept { return facts_; }
    [[nodiscard]] http::fields fields(std::string_view received) const noexcept {
        return http::fields{received.substr(fields_begin_, fields_end_ - fields_begin_)};
    }
    // How many bytes the complete lines have.
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

private:
    // False: the next line has not come.
    [[nodiscard]] bool take_line(std::string_view received, const limits& limits) noexcept;

    field_facts facts_;
    std::size_t taken_ = 0;
    std::size_t scanned_ = 0;  // there is no LF between taken_ and here
    part line_;
    std::size_t fields_begin_ = 0;  // 0: the start line has not come
    std::size_t fields_end_ = 0;    // not 0: the head is complete
    errc failure_ = errc::none;
};

}  // namespace fairlead::http::detail
