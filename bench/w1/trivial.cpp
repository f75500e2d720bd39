#include "support/runtimes/trivial.hpp"
#include "w1/post_storm.hpp"

int main(int argc, char** argv) { return bench::w1::main<bench::trivial_runtime>(argc, argv); }
