#include "support/runtimes/asio.hpp"
#include "w4/recursive.hpp"

int main(int argc, char** argv) { return bench::w4::main<bench::asio_runtime>(argc, argv); }
