#include <fairlead/http/request_parser.hpp>

#include "http/grammar.hpp"

#include <optional>

namespace fairlead::http {
namespace {

using grammar::class_of;

std::optional<version> version_of(std::string_view text) noexcept {
    if (text == "HTTP/1.1") return version::http_1_1;
    if (text == "HTTP/1.0") return version::http_1_0;
    return std::nullopt;
}

// Another version, rather than no version at all.
bool is_other_version(std::string_view text) noexcept {
    return text.size() == 8 && text.starts_with("HTTP/") && grammar::is_digit(text[5]) &&
           text[6] == '.' && grammar::is_digit(text[7]);
}

}  // namespace

std::expected<bool, errc> request_parser::parse(std::string_view received) noexcept {
    using found = detail::head_scan::found;
    for (;;) {
        switch (scan_.next(received, limits_)) {
            case found::nothing:
                return false;
            case found::start_line:
                // RFC 9112, 2.2: ignore empty lines before a request. They count as a part of the
                // head.
                if (scan_.line().size != 0) scan_.begin_fields(take_start_line(received));
                break;
            case found::end:
                scan_.end_fields(finish(received));
                break;
            case found::complete:
                return true;
            case found::failure:
                return std::unexpected{scan_.failure()};
        }
    }
}

errc request_parser::take_start_line(std::string_view received) noexcept {
    const detail::part whole = scan_.line();
    const std::string_view line = whole.in(received);
    if (grammar::is_blank(line.front())) return errc::folded_line;
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == line.npos || first == last) return errc::bad_start_line;
    method_ = {whole.begin, first};
    target_ = {whole.begin + first + 1, last - first - 1};
    if (!grammar::is_token(method_.in(received))) return errc::bad_method;
    const std::string_view version_text = line.substr(last + 1);
    const auto version = version_of(version_text);
    if (!version) {
        return is_other_version(version_text) ? errc::bad_version : errc::bad_start_line;
    }
    version_ = *version;
    if (!grammar::is_target(method_.in(received), target_.in(received))) return errc::bad_target;
    return errc::none;
}

errc request_parser::finish(std::string_view received) noexcept {
    const detail::field_facts& facts = scan_.facts();
    if (const errc error = facts.check(version_, body_); error != errc::none) return error;
    if (const errc error = check_host(received); error != errc::none) return error;
    // A request with HTTP/1.0 may not expect anything: RFC 9110, 10.1.1.
    const bool expects = facts.expectations() != 0 && version_ == version::http_1_1;
    if (expects && (facts.expectations() > 1 || !facts.expects_continue())) {
        return errc::unknown_expectation;
    }
    return errc::none;
}

errc request_parser::check_host(std::string_view received) noexcept {
    const detail::field_facts& facts = scan_.facts();
    if (facts.hosts() > 1 || (facts.hosts() == 0 && version_ == version::http_1_1)) {
        return errc::bad_host;
    }
    if (facts.hosts() == 1) {
        host_ = facts.host();
        if (!grammar::is_host(host_.in(received))) return errc::bad_host;
    }
    const std::string_view target = target_.in(received);
    if (method_.in(received) == "CONNECT") {
        host_ = target_;
    } else if (!target.starts_with('/') && target != "*") {
        // RFC 9112, 3.2.2: the host of the target counts.
        const std::string_view authority = grammar::split_absolute(target).authority;
        host_ = {static_cast<std::size_t>(authority.data() - received.data()), authority.size()};
    }
    return errc::none;
}

request_head request_parser::head(std::string_view received) const noexcept {
    return {.method = method_.in(received),
            .target = target_.in(received),
            .host = host_.in(received),
            .fields = scan_.fields(received),
            .version = version_,
            .body = body_,
            .keep_alive = scan_.facts().keeps_alive(version_),
            .expects_continue = scan_.facts().expects_continue() && version_ == version::http_1_1};
}

}  // namespace fairlead::http
