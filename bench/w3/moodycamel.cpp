#include "support/runtimes/moodycamel.hpp"
#include "w3/avalanche.hpp"

int main(int argc, char** argv) { return bench::w3::main<bench::moodycamel_runtime>(argc, argv); }
