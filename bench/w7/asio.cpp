#include "support/runtimes/asio.hpp"
#include "w7/ping_pong.hpp"

int main(int argc, char** argv) { return bench::w7::main<bench::asio_runtime>(argc, argv); }
