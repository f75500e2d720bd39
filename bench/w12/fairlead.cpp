#include "support/runtimes/fairlead.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::fairlead_runtime>(argc, argv); }
