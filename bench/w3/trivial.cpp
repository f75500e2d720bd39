#include "support/runtimes/trivial.hpp"
#include "w3/avalanche.hpp"

int main(int argc, char** argv) { return bench::w3::main<bench::trivial_runtime>(argc, argv); }
