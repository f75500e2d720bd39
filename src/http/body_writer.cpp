#include <fairlead/http/body_writer.hpp>

#include <fairlead/http/errc.hpp>
#include <fairlead/http/print.hpp>

#include <string>

namespace fairlead::http {

task<std::error_code> detail::body_sink::send_piece(std::string_view before, std::string_view data,
                                                    std::string_view after) {
    out_.append(before);
    if (data.size() <= inline_max) {
        out_.append(data).append(after);
        co_return co_await flush();
    }
    const std::error_code failure = co_await write(data);
    out_.append(after);
    co_return failure;
}

task<std::expected<void, std::error_code>> body_writer::write(std::string_view data) {
    if (!failure_ && left_ && data.size() > *left_) failure_ = make_error_code(errc::wrong_size);
    if (failure_) co_return std::unexpected{failure_};
    if (data.empty()) co_return std::expected<void, std::error_code>{};
    if (left_) *left_ -= data.size();
    std::string before;
    if (chunked_) print_chunk_size(before, data.size());
    failure_ = co_await sink_.send_piece(before, data, chunked_ ? "\r\n" : "");
    if (failure_) co_return std::unexpected{failure_};
    co_return std::expected<void, std::error_code>{};
}

}  // namespace fairlead::http
