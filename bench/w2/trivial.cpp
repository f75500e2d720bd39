#include "support/runtimes/trivial.hpp"
#include "w2/repost.hpp"

int main(int argc, char** argv) { return bench::w2::main<bench::trivial_runtime>(argc, argv); }
