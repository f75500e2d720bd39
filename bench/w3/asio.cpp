#include "support/runtimes/asio.hpp"
#include "w3/avalanche.hpp"

int main(int argc, char** argv) { return bench::w3::main<bench::asio_runtime>(argc, argv); }
