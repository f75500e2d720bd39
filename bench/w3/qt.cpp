#include "support/runtimes/qt.hpp"
#include "w3/avalanche.hpp"

int main(int argc, char** argv) { return bench::w3::main<bench::qt_runtime>(argc, argv); }
