#include "support/runtimes/fairlead.hpp"
#include "w4/recursive.hpp"

int main(int argc, char** argv) {
    return bench::w4::main<bench::fairlead_stealing_runtime>(argc, argv);
}
