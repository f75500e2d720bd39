// The client of W21 for servers in other languages, which start it with the options that they were
// given and a socket as its standard input.
#include "w21/pages.hpp"

int main(int argc, char** argv) {
    const bench::options asked = bench::parse(argc, argv);
    if (!bench::w21::is_offered(asked)) return bench::not_offered;
    bench::live<bench::w21::client>(bench::talk{bench::unique_fd{STDIN_FILENO}}, asked);
    return 0;
}
