// std::async, which makes a thread for each task: there are no workers.
#pragma once

#include "support/work_item.hpp"

#include <cstdint>
#include <future>

namespace bench {

class std_async_runtime {
public:
    static constexpr const char* name = "std_async";
    using item = work_item;

    explicit std_async_runtime(std::uint64_t) {}

    /// Not before the last one has ended.
    void post(item& task) {
        last_ = std::async(std::launch::async, [&task] { task.run(task); });
    }

private:
    std::future<void> last_;
};

}  // namespace bench
