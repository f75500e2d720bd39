// A query of DNS by UDP, written by hand: one datagram there, one back, and again when one is lost.
// It asks a small server that the example starts itself.
#include <fairlead/fairlead.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

using bytes = std::span<const std::byte>;

bytes bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

void add_number(std::string& to, unsigned number) {  // 16 bits, the high ones first
    to += static_cast<char>(number >> 8U);
    to += static_cast<char>(number & 255U);
}
unsigned number_at(bytes from, std::size_t at) {
    return std::to_integer<unsigned>(from[at]) << 8U | std::to_integer<unsigned>(from[at + 1]);
}

// [question]
// RFC 1035, section 4: a head of 12 bytes, then the name as labels, type A, class IN. A label that
// is too long cannot be asked for.
std::optional<std::string> question_for(std::string_view name, unsigned id) {
    std::string message;
    for (const unsigned each : {id, 0x0100U, 1U, 0U, 0U, 0U}) add_number(message, each);
    while (!name.empty()) {
        const std::string_view label = name.substr(0, name.find('.'));
        if (label.empty() || label.size() > 63) return {};
        message += static_cast<char>(label.size());
        message += label;
        name.remove_prefix(std::min(name.size(), label.size() + 1));
    }
    message += '\0';
    add_number(message, 1);
    add_number(message, 1);
    return message;
}
// [/question]

// [answer]
// The first address in the answer to `question`. Every byte comes from the network: each is looked
// at only after its place was compared with the size.
std::expected<std::string, std::error_code> address_in(bytes message, bytes question) {
    const auto bad = std::unexpected{std::make_error_code(std::errc::bad_message)};
    if (message.size() < question.size()) return bad;
    if ((number_at(message, 2) & 15U) != 0 || number_at(message, 6) == 0) {
        return std::unexpected{std::make_error_code(std::errc::address_not_available)};
    }
    // An answer repeats the question; its name is a pointer to that, of two bytes.
    for (std::size_t at = question.size(); at + 12 <= message.size();) {
        const std::size_t size = number_at(message, at + 10);
        if ((number_at(message, at) & 0xc000U) != 0xc000U) return bad;
        if (at + 12 + size > message.size()) return bad;
        if (number_at(message, at + 2) == 1 && size == 4) {
            std::string text;
            for (const std::byte each : message.subspan(at + 12, 4)) {
                text += (text.empty() ? "" : ".") + std::to_string(std::to_integer<int>(each));
            }
            return text;
        }
        at += 12 + size;
    }
    return bad;
}
// [/answer]

// [ask]
fl::task<std::expected<std::string, std::error_code>> ask(io::udp_socket& server, std::string name,
                                                          unsigned id, fl::time_point deadline) {
    const auto question = question_for(name, id);
    if (!question) {
        co_return std::unexpected{std::make_error_code(std::errc::invalid_argument)};
    }
    const bytes asked = bytes_of(*question);
    for (fl::duration patience = 500ms;; patience *= 2) {
        const auto sent = co_await server.send(asked, deadline);
        if (!sent) co_return std::unexpected{sent.error()};
        const fl::time_point again = std::min(deadline, fl::clock::now() + patience);
        for (;;) {
            std::array<std::byte, 512> buffer;
            const auto came = co_await server.receive_from(buffer, again);
            if (!came && came.error() == std::errc::timed_out && again < deadline) break;
            if (!came) co_return std::unexpected{came.error()};
            const bytes data = came->data();
            // Only an answer to this very question: the number, and the text of the question.
            const bool is_answer =
                data.size() >= asked.size() && number_at(data, 0) == id &&
                (number_at(data, 2) & 0x8000U) != 0 &&
                std::ranges::equal(data.subspan(12, asked.size() - 12), asked.subspan(12));
            if (is_answer) co_return address_in(data, asked);
        }
    }
}
// [/ask]

// Answers each question with 192.0.2.7, but the first datagram gets lost, and the second one meets
// an answer to another question.
fl::task<> serve(io::udp_socket socket) {
    for (int count = 0;; ++count) {
        std::array<std::byte, 512> buffer;
        const auto came = co_await socket.receive_from(buffer);
        if (!came) co_return;  // asked to stop
        if (count == 0) continue;
        std::string answer{reinterpret_cast<const char*>(buffer.data()), came->size};
        answer[2] = static_cast<char>(0x81);  // it is an answer
        answer[7] = 1;                        // with one record
        for (const unsigned each : {0xc00cU, 1U, 1U, 0U, 60U, 4U}) add_number(answer, each);
        answer += std::string{"\xc0\x00\x02\x07", 4};
        std::string other = answer;
        other[0] = static_cast<char>(other[0] ^ 1);
        for (const std::string& each : {other, answer}) {
            static_cast<void>(co_await socket.send_to(bytes_of(each), came->from));
        }
    }
}

fl::task<std::string> look_up(fl::scheduler& home, io::address server, std::string name) {
    auto socket = io::udp_socket::connect(home, server);
    if (!socket) co_return socket.error().message();
    constexpr unsigned id = 4711;  // take a random one: a stranger must not guess it
    const auto found = co_await ask(*socket, std::move(name), id, fl::clock::now() + 10s);
    co_return found ? *found : found.error().message();
}

}  // namespace

int main() {
    fl::scheduler home{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto socket = io::udp_socket::bind(home, io::address::loopback(0));
    if (!socket) return EXIT_FAILURE;
    const io::address where = socket->local_address().value();
    auto server = fl::spawn(home, serve(std::move(*socket)));
    const std::string found = fl::block_on(home, look_up(home, where, "www.example.org"));
    std::printf("www.example.org is %s\n", found.c_str());
    server.request_stop();
    server.get();
    return found == "192.0.2.7" ? EXIT_SUCCESS : EXIT_FAILURE;
}
