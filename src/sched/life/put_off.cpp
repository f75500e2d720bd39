#include <fairlead/detail/sched/put_off.hpp>

namespace fairlead::sched {

void before_block() noexcept {
    if (auto* const run = put_off::get()) run();
}

}  // namespace fairlead::sched
