#include "support/runtimes/trivial.hpp"
#include "w7/ping_pong.hpp"

int main(int argc, char** argv) { return bench::w7::main<bench::trivial_runtime>(argc, argv); }
