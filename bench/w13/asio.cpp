// Boost.Asio: callbacks on one io_context, which all workers run.
#include "support/asio_context.hpp"
#include "w13/echo.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <memory>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

class session : public std::enable_shared_from_this<session> {
public:
    session(tcp::socket peer, std::size_t buffer_bytes)
        : peer_{std::move(peer)}, buffer_(buffer_bytes) {
        peer_.set_option(tcp::no_delay{true});
    }

    void read() {
        peer_.async_read_some(asio::buffer(buffer_),
                              [self = shared_from_this()](error_code failed, std::size_t size) {
                                  if (!failed) self->write(size);
                              });
    }

private:
    void write(std::size_t size) {
        asio::async_write(peer_, asio::buffer(buffer_, size),
                          [self = shared_from_this()](error_code failed, std::size_t) {
                              if (!failed) self->read();
                          });
    }

    tcp::socket peer_;
    std::vector<std::byte> buffer_;
};

class asio_server {
public:
    static constexpr const char* name = "asio";

    asio_server(std::uint64_t workers, std::size_t buffer_bytes)
        : buffer_bytes_{buffer_bytes}, context_{workers} {
        acceptor_.listen();
        accept();
    }
    asio_server(const asio_server&) = delete;
    asio_server& operator=(const asio_server&) = delete;
    ~asio_server() { context_.stop(); }

    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    void accept() {
        acceptor_.async_accept([this](error_code failed, tcp::socket peer) {
            if (failed) return;
            std::make_shared<session>(std::move(peer), buffer_bytes_)->read();
            accept();
        });
    }

    std::size_t buffer_bytes_;
    bench::asio_context context_;
    tcp::acceptor acceptor_{context_.get(), {asio::ip::address_v4::loopback(), 0}};
};

}  // namespace

int main(int argc, char** argv) { return bench::w13::main<asio_server>(argc, argv); }
