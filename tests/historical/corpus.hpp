// Bugs that other projects shipped, or caught in review, each as the smallest program that still
// has it.
//
// Question it answers: does the model checker find bugs of other projects, and how soon?
//
// A bug is a scenario with a switch: with the bug, and with the fix. The checker must find the bug,
// in the way that the entry names, and pass the fix within the same bounds. So a checker or a
// scenario that no longer works is noticed. If the scenario simplifies the project's code, its
// comment says what was left out. The code is our own; only the mistake is the project's.
//
// docs/internals/historical.md is the table, made by tools/historical.py from what the test
// records. Bugs that other layers show are in elsewhere.toml, with the layer.
#pragma once

#include "model/checker/atomic.hpp"

#include <vector>

namespace fairlead::model::historical {

struct bug {
    const char* name;  // of the test
    const char* where;
    const char* mistake;
    const char* fix;
    void (*scenario)(bool fixed);
    const char* found_as;  // part of what the checker says of the mistake
    options bounds{};      // of both searches
};

[[nodiscard]] std::vector<bug> wake_ups();
[[nodiscard]] std::vector<bug> queues();
[[nodiscard]] std::vector<bug> deques();
[[nodiscard]] std::vector<bug> lifetimes();
[[nodiscard]] std::vector<bug> reclamation();
[[nodiscard]] std::vector<bug> timers();
[[nodiscard]] std::vector<bug> descriptors();

}  // namespace fairlead::model::historical
