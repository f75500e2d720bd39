#include <fairlead/http/response_parser.hpp>

#include "http/grammar.hpp"

namespace fairlead::http {

std::expected<bool, errc> response_parser::parse(std::string_view received, bool to_head) noexcept {
    using found = detail::head_scan::found;
    for (;;) {
        switch (scan_.next(received, limits_)) {
            case found::nothing:
                return false;
            case found::start_line:
                scan_.begin_fields(take_start_line(received));
                break;
            case found::end:
                scan_.end_fields(finish(to_head));
                break;
            case found::complete:
                return true;
            case found::failure:
                return std::unexpected{scan_.failure()};
        }
    }
}

// HTTP-version SP 3DIGIT SP [ reason ]
errc response_parser::take_start_line(std::string_view received) noexcept {
    constexpr std::size_t status_begin = 9;
    constexpr std::size_t reason_begin = 13;
    const detail::part whole = scan_.line();
    const std::string_view line = whole.in(received);
    const bool is_version = line.size() >= status_begin && line.starts_with("HTTP/") &&
                            grammar::is_digit(line[5]) && line[6] == '.' &&
                            grammar::is_digit(line[7]) && line[8] == ' ';
    if (!is_version) return errc::bad_start_line;
    if (!line.starts_with("HTTP/1.1") && !line.starts_with("HTTP/1.0")) return errc::bad_version;
    version_ = line[7] == '1' ? version::http_1_1 : version::http_1_0;
    if (line.size() < reason_begin || line[reason_begin - 1] != ' ') return errc::bad_status;
    status_ = 0;
    for (const char each : line.substr(status_begin, 3)) {
        if (!grammar::is_digit(each)) return errc::bad_status;
        status_ = status_ * 10 + (each - '0');
    }
    if (status_ < 100) return errc::bad_status;
    reason_ = {whole.begin + reason_begin, whole.size - reason_begin};
    if (!grammar::is_value_text(reason_.in(received))) return errc::bad_start_line;
    return errc::none;
}

// RFC 9112, 6.3. A body where none may be is not read, and its connection is not used again.
errc response_parser::finish(bool to_head) noexcept {
    framing said{framing::kind::until_close, 0};
    if (const errc error = scan_.facts().check(version_, said); error != errc::none) return error;
    const bool bodiless = to_head || status_ < 200 || status_ == 204 || status_ == 304;
    const bool bodied = said.how == framing::kind::chunked || said.size != 0;
    const bool wrong = bodied && !to_head && status_ != 304;
    body_ = bodiless ? framing{} : said;
    keep_alive_ = scan_.facts().keeps_alive(version_) && body_.how != framing::kind::until_close &&
                  !(bodiless && wrong);
    return errc::none;
}

response_head response_parser::head(std::string_view received) const noexcept {
    return {.status = status_,
            .reason = reason_.in(received),
            .fields = scan_.fields(received),
            .version = version_,
            .body = body_,
            .keep_alive = keep_alive_};
}

}  // namespace fairlead::http
