// Fairlead: io_uring for what is not in memory.
#include "w17/tasks.hpp"

int main(int argc, char** argv) {
    return bench::w17::main<bench::w17::fairlead_files<true>>(argc, argv);
}
