#include "support/runtimes/trivial.hpp"
#include "w4/recursive.hpp"

int main(int argc, char** argv) { return bench::w4::main<bench::trivial_runtime>(argc, argv); }
