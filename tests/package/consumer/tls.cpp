// A user's program with TLS: it links, and says what is wrong with a file.
#include <fairlead/tls/tls_stream.hpp>

#include <cstdio>

int main() {
    const auto context = fairlead::io::tls_context::server(
        {.identity = {.chain = fairlead::io::tls_pem::file("/nonexistent/chain.pem"),
                      .key = fairlead::io::tls_pem::file("/nonexistent/key.pem")}});
    if (context) return 1;
    std::puts(context.error().text.c_str());
    return context.error().code == std::errc::no_such_file_or_directory ? 0 : 1;
}
