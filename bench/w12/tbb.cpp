#include "support/runtimes/tbb.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::tbb_runtime>(argc, argv); }
