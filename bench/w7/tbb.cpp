#include "support/runtimes/tbb.hpp"
#include "w7/ping_pong.hpp"

int main(int argc, char** argv) { return bench::w7::main<bench::tbb_runtime>(argc, argv); }
