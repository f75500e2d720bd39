#include <fairlead/sched/stopped_by.hpp>

namespace fairlead {

const char* to_string(stopped_by why) noexcept {
    switch (why) {
        case stopped_by::unsaid:
            return "no reason given";
        case stopped_by::token:
            return "a stop token";
        case stopped_by::timeout:
            return "timeout";
        case stopped_by::overdue:
            return "overdue";
        case stopped_by::lost_race:
            return "lost the race";
        case stopped_by::failure:
            return "a sibling failed";
        case stopped_by::unwanted:
            return "not wanted any more";
        case stopped_by::shutdown:
            return "the scheduler stops";
    }
    return "a reason of the program";
}

}  // namespace fairlead
