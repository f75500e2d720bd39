#include "support/runtimes/trivial.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::trivial_runtime>(argc, argv); }
