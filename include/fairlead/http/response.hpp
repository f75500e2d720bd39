// The answer of a handler.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/http/body_writer.hpp>
#include <fairlead/http/fields.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::http {

/// What a handler answers.
struct response {
    /// Of three digits, at least 200.
    int status = 200;
    /// The fields of the program. Those that frame the message are the server's: Content-Length,
    /// Transfer-Encoding and Connection are left out when it is sent.
    field_list fields = {};
    /// The whole body. Not sent with status 204 and 304, nor to HEAD.
    std::string body = {};
    /// The whole body instead of `body`, in one copy for many answers. Released when it was sent.
    std::shared_ptr<const std::string> shared_body = {};
    /// Writes the body instead of `body`, while the `request` is valid. Lives until it has ended.
    /// An exception, or fewer bytes than `stream_size`, closes the connection in the middle of the
    /// body, so that the client cannot take a part for the whole.
    std::function<task<>(body_writer&)> stream = {};
    /// The size of what `stream` writes, in bytes. Without it the body is sent in chunks. With HEAD
    /// and without `stream`: what GET would have sent.
    std::optional<std::uint64_t> stream_size = {};
    /// Close the connection after this answer.
    bool close = false;

    /// What is sent as the whole body.
    [[nodiscard]] const std::string& content() const noexcept {
        return shared_body != nullptr ? *shared_body : body;
    }

    /// An answer with a body and its type.
    [[nodiscard]] static response text(int status, std::string body,
                                       std::string_view type = "text/plain; charset=utf-8");
    /// The same with the type "application/json".
    [[nodiscard]] static response json(int status, std::string body) {
        return text(status, std::move(body), "application/json");
    }
    /// An answer that says why a request is refused, and closes the connection. The status is
    /// `status_for(error)`, and the body the text of an error of HTTP.
    [[nodiscard]] static response refusing(const std::error_code& error);
};

}  // namespace fairlead::http
