// libuv: callbacks on one loop, which one thread runs, whatever it is told.
#include "support/libuv_loop.hpp"
#include "w13/echo.hpp"

#include <future>
#include <vector>

namespace {

using bench::check_uv;

class session {
public:
    explicit session(uv_stream_t* listener, std::size_t buffer_bytes) : buffer_(buffer_bytes) {
        check_uv(uv_tcp_init(listener->loop, &peer_), "uv_tcp_init");
        peer_.data = this;
        check_uv(uv_accept(listener, stream()), "uv_accept");
        check_uv(uv_tcp_nodelay(&peer_, 1), "uv_tcp_nodelay");
        read();
    }

private:
    static session& of(const void* data) { return *static_cast<session*>(const_cast<void*>(data)); }
    uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&peer_); }

    void read() {
        uv_read_start(
            stream(),
            [](uv_handle_t* peer, std::size_t, uv_buf_t* to) {
                std::vector<char>& buffer = of(peer->data).buffer_;
                *to = uv_buf_init(buffer.data(), static_cast<unsigned>(buffer.size()));
            },
            [](uv_stream_t* peer, ssize_t size, const uv_buf_t*) {
                if (size < 0) {
                    of(peer->data).close();
                } else {
                    of(peer->data).write(static_cast<std::size_t>(size));
                }
            });
    }

    // At once, if the peer takes it; if not, nothing more is read until it has.
    void write(std::size_t size) {
        uv_buf_t rest = uv_buf_init(buffer_.data(), static_cast<unsigned>(size));
        const int written = uv_try_write(stream(), &rest, 1);
        if (written < 0 && written != UV_EAGAIN) return close();
        const std::size_t done = written < 0 ? 0 : static_cast<std::size_t>(written);
        if (done == size) return;
        rest = uv_buf_init(buffer_.data() + done, static_cast<unsigned>(size - done));
        uv_read_stop(stream());
        writing_.data = this;
        uv_write(&writing_, stream(), &rest, 1, [](uv_write_t* writing, int failed) {
            if (failed != 0) {
                of(writing->data).close();
            } else {
                of(writing->data).read();
            }
        });
    }

    void close() {
        uv_close(reinterpret_cast<uv_handle_t*>(&peer_),
                 [](uv_handle_t* peer) { delete &of(peer->data); });
    }

    uv_tcp_t peer_;
    uv_write_t writing_;
    std::vector<char> buffer_;
};

class libuv_server {
public:
    static constexpr const char* name = "libuv";

    libuv_server(std::uint64_t, std::size_t buffer_bytes) : buffer_bytes_{buffer_bytes} {
        std::promise<std::uint16_t> port;
        loop_.post([this, &port] { port.set_value(listen()); });
        port_ = port.get_future().get();
    }
    libuv_server(const libuv_server&) = delete;
    libuv_server& operator=(const libuv_server&) = delete;
    ~libuv_server() {
        loop_.post([this] { uv_close(reinterpret_cast<uv_handle_t*>(&listener_), nullptr); });
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    std::uint16_t listen() {
        sockaddr_in address = bench::loopback(0);
        const auto any = reinterpret_cast<sockaddr*>(&address);
        int size = sizeof(address);
        check_uv(uv_tcp_init(loop_.get(), &listener_), "uv_tcp_init");
        listener_.data = this;
        check_uv(uv_tcp_bind(&listener_, any, 0), "uv_tcp_bind");
        check_uv(uv_listen(reinterpret_cast<uv_stream_t*>(&listener_), SOMAXCONN, accept),
                 "uv_listen");
        check_uv(uv_tcp_getsockname(&listener_, any, &size), "uv_tcp_getsockname");
        return ntohs(address.sin_port);
    }

    static void accept(uv_stream_t* listener, int failed) {
        check_uv(failed, "uv_listen");
        new session{listener, static_cast<libuv_server*>(listener->data)->buffer_bytes_};
    }

    std::size_t buffer_bytes_;
    std::uint16_t port_ = 0;
    uv_tcp_t listener_;  // outlives the loop
    bench::libuv_loop loop_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w13::main<libuv_server>(argc, argv); }
