#include "support/runtimes/moodycamel.hpp"
#include "w4/recursive.hpp"

int main(int argc, char** argv) { return bench::w4::main<bench::moodycamel_runtime>(argc, argv); }
