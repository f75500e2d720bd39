// OpenSSL's own server for tests, which serves one connection after the other.
#include "w18/tls.hpp"

#include <string>

namespace {

class openssl_server {
public:
    static constexpr const char* name = "openssl";

    static bool offers(const bench::options& asked) { return asked.workers == 1; }

    openssl_server(const bench::w18::site& from, const bench::options&)
        : process_{{"openssl", "s_server", "-accept", "127.0.0.1:" + std::to_string(port_), "-cert",
                    from.chain(), "-key", from.key(), "-tls1_3", "-quiet", "-WWW"},
                   from.folder().path_of("openssl.out")} {
        process_.wait_for(port_);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] const bench::server_process& process() const { return process_; }

private:
    const std::uint16_t port_ = bench::free_port();
    bench::server_process process_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w18::main<openssl_server>(argc, argv); }
