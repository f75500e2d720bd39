// The trivial pool, which has no timers: a thread of its own sleeps, and posts the sleeper's next
// step.
#include "support/runtimes/trivial.hpp"
#include "w11/saturated.hpp"

#include <semaphore>
#include <thread>

namespace {

class trivial_tasks {
public:
    static constexpr const char* name = "trivial";
    static constexpr bool has_slices = false;

    explicit trivial_tasks(std::uint64_t workers) : pool_{workers} {}

    void spawn_busy(bench::w11::load& load) {
        pool_.post_one_shot([this, &load] {
            if (load.step()) {
                spawn_busy(load);
            } else {
                load.leave();
            }
        });
    }

    void spawn_sleeper(bench::w11::sleeper& who) {
        clock_ = std::jthread{[this, &who] {
            std::binary_semaphore ran{0};
            for (bool again = true; again;) {
                std::this_thread::sleep_until(who.next_deadline());
                pool_.post_one_shot([&] {
                    again = who.wake_up();
                    ran.release();
                });
                ran.acquire();
            }
        }};
    }

private:
    bench::trivial_runtime pool_;
    std::jthread clock_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w11::main<trivial_tasks>(argc, argv); }
