#include "support/runtimes/qt.hpp"
#include "w1/post_storm.hpp"

int main(int argc, char** argv) { return bench::w1::main<bench::qt_runtime>(argc, argv); }
