// Bugs that other projects shipped, or caught in review, each as the smallest program that still
// has it.
//
// Question it answers: does the model checker find bugs of other projects, and how soon?
//
// A bug is one scenario with a switch: as it was, and with the fix. The checker must find the
// first, in the way that the entry names, and pass the second within the same bounds; so neither
// the checker nor the scenario can go blind unnoticed. Where the shape is not exactly the
// project's, the comment at the scenario says what was left out. The code is our own; only the
// mistake is theirs.
//
// docs/internals/historical.md is the table, made by tools/historical.py from what the test
// records. Bugs that something else shows are in elsewhere.toml, with the layer.
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
