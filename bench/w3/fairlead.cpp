#include "support/runtimes/fairlead.hpp"
#include "w3/avalanche.hpp"

int main(int argc, char** argv) { return bench::w3::main<bench::fairlead_runtime>(argc, argv); }
