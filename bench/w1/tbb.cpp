#include "support/runtimes/tbb.hpp"
#include "w1/post_storm.hpp"

int main(int argc, char** argv) { return bench::w1::main<bench::tbb_runtime>(argc, argv); }
