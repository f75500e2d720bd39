// The twin of the messages: a group and plain posts.
#include "w4/messages.hpp"

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W4", "fairlead_grouped_stealing",
                           bench::w4::measure_group<fairlead::policy::stealing>);
}
