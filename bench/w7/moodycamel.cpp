#include "support/runtimes/moodycamel.hpp"
#include "w7/ping_pong.hpp"

int main(int argc, char** argv) { return bench::w7::main<bench::moodycamel_runtime>(argc, argv); }
