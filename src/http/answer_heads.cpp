#include "http/answer_heads.hpp"

#include "http/date.hpp"

#include <fairlead/http/print.hpp>

#include <string_view>
#include <utility>

namespace fairlead::http {
namespace {

// Fields that the server alone sends.
bool frames_message(std::string_view name) noexcept {
    return same_name(name, "content-length") || same_name(name, "connection") ||
           same_name(name, "transfer-encoding");
}

}  // namespace

void answer_heads::print(std::string& out, const request_head& asked, const response& answer,
                         const framing& body, bool keep) {
    print_status_line(out, answer.status);
    bool dated = false;
    bool named = false;
    bool framed = false;
    for (const field& each : answer.fields.view()) {
        dated = dated || same_name(each.name, "date");
        named = named || same_name(each.name, "server");
        framed = framed || frames_message(each.name);
    }
    if (!framed) {
        print_fields(out, answer.fields.view());
    } else {
        for (const field& each : answer.fields.view()) {
            if (!frames_message(each.name)) print_field(out, each.name, each.value);
        }
    }
    renew();
    const std::size_t begin = named ? server_size_ : 0;
    const std::size_t end = dated ? server_size_ : standing_.size();
    if (begin < end) out.append(standing_, begin, end - begin);
    print_framing(out, body);
    if (!keep) {
        out.append("Connection: close\r\n");
    } else if (asked.version == version::http_1_0) {
        out.append("Connection: keep-alive\r\n");
    }
    print_end(out);
}

void answer_heads::renew() {
    if (std::exchange(dated_, true)) return;
    std::chrono::sys_seconds now{};
    if (options_.date) now = options_.wall_clock ? options_.wall_clock() : time_of_day();
    if (now == second_) return;
    second_ = now;
    standing_.clear();
    if (!options_.server.empty()) print_field(standing_, "Server", options_.server);
    server_size_ = standing_.size();
    if (!options_.date) return;
    const date_text text = date_of(now);
    print_field(standing_, "Date", {text.data(), text.size()});
}

}  // namespace fairlead::http
