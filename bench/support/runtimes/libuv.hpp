// libuv: one thread, whatever it is told, which runs a loop.
#pragma once

#include "support/libuv_loop.hpp"
#include "support/work_item.hpp"

#include <cstdint>

namespace bench {

class libuv_runtime {
public:
    static constexpr const char* name = "libuv";
    using item = work_item;

    explicit libuv_runtime(std::uint64_t) {}

    void post(item& task) {
        loop_.post([&task] { task.run(task); });
    }

private:
    libuv_loop loop_;
};

}  // namespace bench
