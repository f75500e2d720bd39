#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/sched/task_name.hpp>

#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace fairlead {

// The table is never destroyed: a task of a static scheduler may print its name at the very end.
task_name task_name::intern(std::string_view text) {
    static sync::mutex mutex;
    static auto& names = *new std::set<std::string, std::less<>>;
    const std::lock_guard lock{mutex};
    auto found = names.find(text);
    if (found == names.end()) found = names.emplace(text).first;
    return task_name{permanent{found->c_str()}};
}

}  // namespace fairlead
