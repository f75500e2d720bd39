#include <fairlead/http/errc.hpp>

#include <string>

namespace fairlead::http {
namespace {

const char* text_of(errc error) noexcept {
    switch (error) {
        case errc::none:
            return "no error";
        case errc::bad_start_line:
            return "the first line is not \"METHOD target HTTP/1.1\", or \"HTTP/1.1 status "
                   "reason\"";
        case errc::bad_method:
            return "the method is no token";
        case errc::bad_target:
            return "the target must be a path, an absolute URI, \"*\" with OPTIONS, or host:port "
                   "with CONNECT";
        case errc::bad_version:
            return "the version must be HTTP/1.1 or HTTP/1.0";
        case errc::bad_status:
            return "the status must have three digits and be at least 100";
        case errc::bad_line_end:
            return "a line must end with a carriage return and a line feed";
        case errc::folded_line:
            return "a line of the head begins with a space: write each field in one line";
        case errc::space_before_colon:
            return "a space before the colon of a field";
        case errc::bad_field_name:
            return "the name of a field is no token, or has no colon";
        case errc::bad_field_value:
            return "the value of a field has a control character";
        case errc::line_too_long:
            return "the first line is too long";
        case errc::head_too_large:
            return "the head is too large: send fewer or shorter fields";
        case errc::too_many_fields:
            return "the head has too many fields";
        case errc::bad_host:
            return "send exactly one Host field, which is host[:port]";
        case errc::bad_length:
            return "Content-Length must be a decimal number";
        case errc::several_lengths:
            return "more than one Content-Length";
        case errc::length_and_coding:
            return "Content-Length and Transfer-Encoding exclude each other";
        case errc::bad_coding:
            return "send one Transfer-Encoding, which names a coding, with HTTP/1.1 alone";
        case errc::unknown_coding:
            return "the only transfer coding is \"chunked\"";
        case errc::unknown_expectation:
            return "the only expectation is \"100-continue\"";
        case errc::body_too_large:
            return "the body is too large";
        case errc::bad_chunk_size:
            return "the size of a chunk must be a hexadecimal number";
        case errc::bad_chunk_extension:
            return "malformed text after the size of a chunk";
        case errc::extensions_too_large:
            return "the extensions of the chunks are too large";
        case errc::bad_chunk_end:
            return "the data of a chunk must end with a carriage return and a line feed";
        case errc::bad_trailer:
            return "a line after the last chunk is no field";
        case errc::trailers_too_large:
            return "the fields after the last chunk are too large";
        case errc::incomplete:
            return "the connection has ended in the middle of a message";
        case errc::closed:
            return "the connection has ended before a message began";
        case errc::too_many_interim:
            return "too many answers with a status 1xx";
        case errc::unexpected_switch:
            return "the server has switched the protocol unasked";
        case errc::wrong_size:
            return "the body has another size than was announced";
        case errc::bad_message:
            return "the method, the target or a field cannot be sent";
    }
    return "an unknown error of HTTP";
}

int status_of(errc error) noexcept {
    switch (error) {
        case errc::bad_version:
            return 505;
        case errc::line_too_long:
            return 414;
        case errc::head_too_large:
        case errc::too_many_fields:
        case errc::extensions_too_large:
        case errc::trailers_too_large:
            return 431;
        case errc::unknown_coding:
            return 501;
        case errc::unknown_expectation:
            return 417;
        case errc::body_too_large:
            return 413;
        case errc::none:
        case errc::bad_status:
        case errc::closed:
        case errc::too_many_interim:
        case errc::unexpected_switch:
        case errc::wrong_size:
        case errc::bad_message:
            return 500;
        default:
            return 400;
    }
}

class http_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "http"; }
    [[nodiscard]] std::string message(int value) const override {
        return text_of(static_cast<errc>(value));
    }
};

}  // namespace

const std::error_category& category() noexcept {
    static const http_category instance;
    return instance;
}

int status_for(const std::error_code& error) noexcept {
    if (error.category() == category()) return status_of(static_cast<errc>(error.value()));
    return error == std::errc::timed_out ? 408 : 500;
}

}  // namespace fairlead::http
