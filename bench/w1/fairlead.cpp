#include "support/runtimes/fairlead.hpp"
#include "w1/post_storm.hpp"

int main(int argc, char** argv) { return bench::w1::main<bench::fairlead_runtime>(argc, argv); }
