#include "support/runtimes/asio.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::asio_runtime>(argc, argv); }
