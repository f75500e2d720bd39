#include "support/runtimes/asio.hpp"
#include "w1/post_storm.hpp"

int main(int argc, char** argv) { return bench::w1::main<bench::asio_runtime>(argc, argv); }
