// nginx: the body is a file. Its session tickets and its pieces of 16 KiB are OpenSSL's, as ours.
#include "support/nginx.hpp"
#include "w18/tls.hpp"

#include <string>

namespace {

class nginx_server {
public:
    static constexpr const char* name = "nginx";

    static bool offers(const bench::options&) { return true; }

    nginx_server(const bench::w18::site& from, const bench::options& asked)
        : nginx_{from.folder(), asked.workers, " ssl",
                 "    ssl_protocols TLSv1.3;\n    ssl_certificate " + from.chain() +
                     ";\n    ssl_certificate_key " + from.key() + ";\n    root " +
                     from.folder().path_of("") + ";\n"} {}

    [[nodiscard]] std::uint16_t port() const { return nginx_.port(); }
    [[nodiscard]] const bench::server_process& process() const { return nginx_.process(); }

private:
    bench::nginx nginx_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w18::main<nginx_server>(argc, argv); }
