#include "support/runtimes/std_async.hpp"
#include "w12/wake.hpp"

int main(int argc, char** argv) { return bench::w12::main<bench::std_async_runtime>(argc, argv); }
