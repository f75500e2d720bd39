// The client of W13 for servers in other languages, which start it with the options that they were
// given and a socket as its standard input.
#include "w13/echo.hpp"

int main(int argc, char** argv) {
    const bench::options asked = bench::parse(argc, argv);
    if (!bench::w13::is_offered(asked)) return bench::not_offered;
    bench::live<bench::w13::client>(bench::talk{bench::unique_fd{STDIN_FILENO}}, asked);
    return 0;
}
