#include "support/runtimes/tbb.hpp"
#include "w3/avalanche.hpp"

int main(int argc, char** argv) { return bench::w3::main<bench::tbb_runtime>(argc, argv); }
