#include "support/runtimes/libuv.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::libuv_runtime>(argc, argv); }
