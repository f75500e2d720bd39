// Boost.Beast on Asio: callbacks on one io_context, which all workers run, as in its example of a
// small server. Beast has no answers in batches: each is a write of its own.
#include "support/asio_context.hpp"
#include "w21/pages.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

namespace {

// Of the field Date. A thread makes it anew once in a second.
std::string_view date() {
    thread_local std::array<char, 30> text{};
    thread_local std::time_t made = 0;
    const std::time_t now = std::time(nullptr);
    if (now != made) {
        std::tm parts{};
        ::gmtime_r(&now, &parts);
        std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
        made = now;
    }
    return {text.data(), text.size() - 1};
}

beast::string_view view(std::string_view text) { return {text.data(), text.size()}; }

class session : public std::enable_shared_from_this<session> {
public:
    explicit session(tcp::socket peer) : peer_{std::move(peer)} {
        peer_.set_option(tcp::no_delay{true});
    }

    void read() {
        request_ = {};
        http::async_read(peer_, buffer_, request_,
                         [self = shared_from_this()](error_code failed, std::size_t) {
                             if (!failed) self->answer();
                         });
    }

private:
    void answer() {
        const auto path = request_.target();
        const bench::w21::page* const page =
            bench::w21::find_page(std::string_view{path.data(), path.size()}.substr(1));
        response_ = {page != nullptr ? http::status::ok : http::status::not_found,
                     request_.version()};
        response_.keep_alive(request_.keep_alive());
        response_.set(http::field::server, "beast");
        response_.set(http::field::date, view(date()));
        if (page != nullptr) {
            response_.set(http::field::content_type, view(page->type));
            response_.body() = page->body;
        }
        response_.prepare_payload();
        http::async_write(peer_, response_,
                          [self = shared_from_this()](error_code failed, std::size_t) {
                              if (!failed) self->read();
                          });
    }

    tcp::socket peer_;
    beast::flat_buffer buffer_;
    http::request<http::empty_body> request_;
    http::response<http::string_body> response_;
};

class beast_server {
public:
    static constexpr const char* name = "beast";

    explicit beast_server(std::uint64_t workers) : context_{workers} {
        acceptor_.listen();
        accept();
    }
    beast_server(const beast_server&) = delete;
    beast_server& operator=(const beast_server&) = delete;
    ~beast_server() { context_.stop(); }

    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    void accept() {
        acceptor_.async_accept([this](error_code failed, tcp::socket peer) {
            if (failed) return;
            std::make_shared<session>(std::move(peer))->read();
            accept();
        });
    }

    bench::asio_context context_;
    tcp::acceptor acceptor_{context_.get(), {asio::ip::address_v4::loopback(), 0}};
};

}  // namespace

int main(int argc, char** argv) { return bench::w21::main<beast_server>(argc, argv); }
