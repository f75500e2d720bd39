#include "support/runtimes/moodycamel.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::moodycamel_runtime>(argc, argv); }
