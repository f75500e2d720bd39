#include "support/runtimes/updater.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::updater_runtime>(argc, argv); }
