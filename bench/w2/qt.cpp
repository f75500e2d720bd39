#include "support/runtimes/qt.hpp"
#include "w2/repost.hpp"

int main(int argc, char** argv) { return bench::w2::main<bench::qt_runtime>(argc, argv); }
