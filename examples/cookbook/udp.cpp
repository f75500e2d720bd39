// A name service by UDP: a server that answers in batches, and a client that asks again when a
// datagram is lost.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

// A question is a number, a space and a name. The answer has the same number.
std::string answer_to(const std::string& question) {
    static const std::map<std::string, std::string, std::less<>> known{{"one", "192.0.2.1"},
                                                                       {"two", "192.0.2.2"}};
    const std::size_t space = question.find(' ');
    if (space == std::string::npos) return {};
    const auto found = known.find(question.substr(space + 1));
    return question.substr(0, space + 1) + (found == known.end() ? "?" : found->second);
}

// [server]
fl::task<> serve(io::udp_socket socket) {
    constexpr std::size_t longest = 512;
    std::array<std::array<std::byte, longest + 1>, 32> room;
    std::array<io::arrived_datagram, 32> questions;
    for (std::size_t i = 0; i != room.size(); ++i) questions[i].buffer = room[i];
    for (;;) {
        const auto count = co_await socket.receive(questions);
        if (!count) co_return;  // asked to stop
        std::vector<std::string> texts;
        std::vector<io::datagram> answers;
        texts.reserve(*count);
        for (const io::arrived_datagram& each : std::span{questions}.first(*count)) {
            if (each.size > longest || each.is_cut) continue;
            texts.push_back(answer_to(text_of(each.data())));
            answers.push_back({.data = bytes_of(texts.back()), .to = &each.from});
        }
        // An answer that cannot be sent is as good as lost: the client asks again.
        static_cast<void>(co_await socket.send(answers));
    }
}
// [/server]

// [client]
// One question at a time. An answer to an earlier one, which came late, is left out.
fl::task<std::expected<std::string, std::error_code>> ask(io::udp_socket& socket, int number,
                                                          std::string_view name,
                                                          fl::time_point deadline) {
    const std::string id = std::to_string(number) + ' ';
    const std::string question = id + std::string{name};
    fl::duration patience = 100ms;
    for (;;) {
        const auto sent = co_await socket.send(bytes_of(question), deadline);
        // Refused: an earlier datagram has met no socket. The server may be starting.
        if (!sent && sent.error() != std::errc::connection_refused) {
            co_return std::unexpected{sent.error()};
        }
        const fl::time_point again = std::min(deadline, fl::clock::now() + patience);
        for (;;) {
            std::array<std::byte, 512> buffer;
            const auto answer = co_await socket.receive_from(buffer, again);
            if (answer) {
                const std::string text = text_of(answer->data());
                if (text.starts_with(id)) co_return text.substr(id.size());
            } else if (answer.error() == std::errc::timed_out && again < deadline) {
                break;
            } else if (answer.error() != std::errc::connection_refused) {
                co_return std::unexpected{answer.error()};
            }
        }
        patience *= 2;
    }
}
// [/client]

fl::task<bool> asks_for_all(fl::scheduler& home, io::address server) {
    auto socket = io::udp_socket::connect(home, server);
    if (!socket) co_return false;
    bool is_right = true;
    int number = 0;
    for (const auto& [name, right] : {std::pair{"one", "192.0.2.1"}, std::pair{"three", "?"}}) {
        ++number;
        const auto answer = co_await ask(*socket, number, name, fl::clock::now() + 5s);
        std::printf("%s: %s\n", name, answer ? answer->c_str() : answer.error().message().c_str());
        is_right = is_right && answer && *answer == right;
    }
    co_return is_right;
}

}  // namespace

int main() {
    fl::scheduler home{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto socket = io::udp_socket::bind(home, io::address::loopback(0));
    if (!socket) return EXIT_FAILURE;
    const io::address where = socket->local_address().value();
    auto server = fl::spawn(home, serve(std::move(*socket)));
    const bool is_right = fl::block_on(home, asks_for_all(home, where));
    server.request_stop();
    server.get();
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
