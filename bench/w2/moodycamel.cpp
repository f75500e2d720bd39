#include "support/runtimes/moodycamel.hpp"
#include "w2/repost.hpp"

int main(int argc, char** argv) { return bench::w2::main<bench::moodycamel_runtime>(argc, argv); }
