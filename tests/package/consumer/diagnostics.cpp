// A user's program with fairlead::diagnostics: it links, and a report says that stacks are enabled.
#include <fairlead/diagnostics/enable_stacks.hpp>
#include <fairlead/fairlead.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

int main() {
    fairlead::diagnostics::enable_stacks();
    std::atomic<bool> reported{false};
    fairlead::scheduler scheduler{
        {.workers = 2, .on_blocked = [&](const fairlead::blocked_step& step) noexcept {
             step.print(stdout);
             reported = true;
             reported.notify_one();
         }}};
    scheduler.post([&] { reported.wait(false); });
    return scheduler.drain_for(std::chrono::minutes{1}) ? 0 : 1;
}
