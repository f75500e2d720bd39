#include "support/runtimes/fairlead.hpp"
#include "w2/repost.hpp"

int main(int argc, char** argv) {
    return bench::w2::main<bench::fairlead_stealing_runtime>(argc, argv);
}
