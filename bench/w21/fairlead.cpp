// Fairlead: http::serve with a function, on a scheduler with an epoll_driver.
#include "w21/pages.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/http/server.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <memory>
#include <string>

namespace fl = fairlead;
namespace http = fairlead::http;
namespace io = fairlead::io;

namespace {

http::response answer(http::request& asked) {
    const bench::w21::page* const page = bench::w21::find_page(asked.path().substr(1));
    if (page == nullptr) return http::response::text(404, "not here\n");
    return http::response::text(200, std::string{page->body}, page->type);
}

class fairlead_server {
public:
    static constexpr const char* name = "fairlead";

    explicit fairlead_server(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers),
                      .driver = std::make_unique<io::epoll_driver>()}},
          serving_{fl::spawn(scheduler_, http::serve(listen(), answer))} {}
    fairlead_server(const fairlead_server&) = delete;
    fairlead_server& operator=(const fairlead_server&) = delete;
    ~fairlead_server() {
        serving_.request_stop();
        (void)serving_.get();  // no error after a stop
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    io::tcp_listener listen() {
        auto listener = io::tcp_listener::bind(scheduler_, io::address::loopback(0)).value();
        port_ = listener.local_address().value().port();
        return listener;
    }

    fl::scheduler scheduler_;
    std::uint16_t port_ = 0;
    fl::join_handle<std::expected<void, std::error_code>> serving_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w21::main<fairlead_server>(argc, argv); }
