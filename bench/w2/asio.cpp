#include "support/runtimes/asio.hpp"
#include "w2/repost.hpp"

int main(int argc, char** argv) { return bench::w2::main<bench::asio_runtime>(argc, argv); }
