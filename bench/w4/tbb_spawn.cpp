#include "support/runtimes/tbb.hpp"
#include "w4/recursive.hpp"

int main(int argc, char** argv) { return bench::w4::main<bench::tbb_spawn_runtime>(argc, argv); }
