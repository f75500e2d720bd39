// One connection of a server: reads requests, calls the handler, sends the answers in order.
//
// The task of the connection does all of it, one request after another; nothing runs beside it.
//
//     parse ---- not complete ----> send what is ready, receive more
//       |
//       +------- refused ---------> answer why, close
//       |
//       +------- complete --------> a function without a body: call it, print the answer
//                                   else `exchange`
//
// The monitor hears of each wait for the client, and of its end; see `receive_head`, `read_body`.
//
// Answers are printed into `out_`, which is sent when the input has no further complete request,
// before a coroutine is called, and when it is large. So a batch of requests that came together is
// answered in one write, and a head goes out with its body.
#pragma once

#include <fairlead/http/body_decoder.hpp>
#include <fairlead/http/connection_monitor.hpp>
#include <fairlead/http/handler.hpp>
#include <fairlead/http/request_parser.hpp>
#include <fairlead/http/server_options.hpp>
#include <fairlead/http/transport.hpp>

#include "http/answer_heads.hpp"
#include "http/input_buffer.hpp"

#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::http {

class server_connection final : public detail::body_sink {
public:
    server_connection(transport& stream, const handler& handler, const server_options& options,
                      connection_monitor& monitor, basic_task& task) noexcept
        : stream_{stream},
          handler_{handler},
          options_{options},
          monitor_{monitor},
          task_{task},
          parser_{options.limits},
          heads_{options} {}

    // Until the connection is to be closed. Throws std::bad_alloc.
    task<> run();

    // For `request` and `body_writer`.
    task<std::expected<std::string_view, std::error_code>> read_body(request& asked);
    [[nodiscard]] const transport& stream() const noexcept { return stream_; }

    // After an exception: whether another answer can be sent, because none is cut off.
    [[nodiscard]] bool can_answer() const noexcept { return !sending_ && !broken_; }

private:
    // How a read for a head ends.
    enum class step : std::uint8_t { need_more, refused, complete };

    using verdict = connection_monitor::verdict;

    [[nodiscard]] step parse() noexcept;
    [[nodiscard]] bool resume_head();
    void end_wait(verdict how);
    task<bool> receive_head();
    task<bool> exchange();
    task<response> ask(request& asked);
    task<bool> finish(request& asked, response answer);
    task<bool> stream_answer(const request_head& head, response& answer, bool keep);
    task<bool> drop_body(request& asked);
    task<> linger();
    [[nodiscard]] task<std::error_code> flush() override;
    [[nodiscard]] task<std::error_code> write(std::string_view text) override;

    [[nodiscard]] std::optional<bool> answer_by_function(const request_head& head);
    [[nodiscard]] response call_function(const request_head& head);
    [[nodiscard]] bool has_output() const noexcept {
        return !out_.empty() || !late_.empty() || late_shared_ != nullptr;
    }
    [[nodiscard]] bool may_drop_body(const request_head& head) noexcept;
    [[nodiscard]] bool keeps(const request_head& head, const response& answer) noexcept;
    [[nodiscard]] response failed(const request_head& head, std::exception_ptr failure) const;
    [[nodiscard]] time_point write_deadline() noexcept;
    [[nodiscard]] response refusal(int status, const std::error_code& why) const;
    void refuse(int status, const std::error_code& why);
    void tell_size() noexcept;
    [[nodiscard]] std::span<std::byte> room_for_body();
    void print(const request_head& head, response& answer, bool keep);
    void begin_body(const framing& body);
    void end_message() noexcept;
    [[nodiscard]] std::expected<std::string_view, errc> decode() noexcept;

    transport& stream_;
    const handler& handler_;
    const server_options& options_;
    connection_monitor& monitor_;
    basic_task& task_;
    request_parser parser_;
    input_buffer input_;
    body_decoder body_;
    answer_heads heads_;
    // A large body that is to be sent after `out_`, in one of both.
    std::string late_;
    std::shared_ptr<const std::string> late_shared_;
    std::string_view part_;                 // of a stream, after these
    std::optional<time_point> head_began_;  // the first wait for the rest of a head
    std::size_t told_size_ = 0;             // to the monitor
    time_point last_deadline_ = never;      // of all writes after a stop
    std::optional<request> direct_;         // of a function without a body
    std::optional<response> streamed_;      // what that function has given, to be streamed
    std::error_code body_failure_;
    std::uint64_t writes_ = 0;
    bool continued_ = false;  // "100 Continue" was sent, or is not needed
    bool sending_ = false;    // a part of what is to be sent may have been sent
    bool unread_ = false;     // the client may still be sending: linger
    bool broken_ = false;     // an answer ends in its middle: send nothing more
    bool cut_ = false;        // and its body has no other end than that of the connection
};

}  // namespace fairlead::http
