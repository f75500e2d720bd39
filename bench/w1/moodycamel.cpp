#include "support/runtimes/moodycamel.hpp"
#include "w1/post_storm.hpp"

int main(int argc, char** argv) { return bench::w1::main<bench::moodycamel_runtime>(argc, argv); }
