#include "support/runtimes/tbb.hpp"
#include "w2/repost.hpp"

int main(int argc, char** argv) { return bench::w2::main<bench::tbb_runtime>(argc, argv); }
