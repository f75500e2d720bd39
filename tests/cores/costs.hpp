// What the simulated machine costs, in nanoseconds, and how its processors are joined. The values
// come from machines.toml, by way of tools/cores.py.
#pragma once

#include <array>
#include <string_view>

namespace fairlead::cores {

struct costs {
    // The shape: how many processors an L3, a socket and the machine have.
    double of_l3 = 1;
    double of_socket = 1;
    double of_machine = 1;

    double access = 0;   // any access that finds its line in the own cache, with what is around it
    double change = 0;   // a read-modify-write of a line that is there, beyond `access`
    double shared = 0;   // a line that is not modified, from the own L3
    double near = 0;     // a line that another processor of the L3 has modified
    double far = 0;      // a line of another L3 of the socket
    double remote = 0;   // a line of another socket
    double memory = 0;   // a line that is in no cache
    double overlap = 1;  // how many loads in a row a processor has under way at once
    double clock = 0;    // a reading of the clock
    double pause = 0;    // the instruction that waits in a loop
    double yield = 0;    // a call of sched_yield
    double call = 0;     // a call of the futex that neither sleeps nor wakes
    double wake = 0;     // a call of the futex that wakes a thread
    double woken = 0;    // from the begin of that call until the thread runs
    double barrier = 0;  // a barrier for all threads of the process

    struct named {
        std::string_view name;
        double costs::*value;
    };
    static const std::array<named, 18> all;
};

inline constexpr std::array<costs::named, 18> costs::all{{{"of_l3", &costs::of_l3},
                                                          {"of_socket", &costs::of_socket},
                                                          {"of_machine", &costs::of_machine},
                                                          {"access", &costs::access},
                                                          {"change", &costs::change},
                                                          {"shared", &costs::shared},
                                                          {"near", &costs::near},
                                                          {"far", &costs::far},
                                                          {"remote", &costs::remote},
                                                          {"memory", &costs::memory},
                                                          {"overlap", &costs::overlap},
                                                          {"clock", &costs::clock},
                                                          {"pause", &costs::pause},
                                                          {"yield", &costs::yield},
                                                          {"call", &costs::call},
                                                          {"wake", &costs::wake},
                                                          {"woken", &costs::woken},
                                                          {"barrier", &costs::barrier}}};

}  // namespace fairlead::cores
