// What the report of a step that blocks looks like.
#pragma once

#include <fairlead/sched/blocked_step.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <latch>
#include <stdexcept>
#include <string>

namespace fairlead::test {

/// Lets a step of a posted callable block, and prints its report.
inline std::string printed_report() {
    std::FILE* const to = std::tmpfile();
    if (to == nullptr) throw std::runtime_error{"no temporary file"};
    std::latch reported{1};
    scheduler scheduler{{.workers = 1,
                         .blocked_after = std::chrono::milliseconds{1},
                         .on_blocked = [&](const blocked_step& step) noexcept {
                             step.print(to);
                             reported.count_down();
                         }}};
    scheduler.post([&] { reported.wait(); });
    scheduler.drain();
    std::rewind(to);
    std::string text(10'000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), to));
    std::fclose(to);
    return text;
}

}  // namespace fairlead::test
