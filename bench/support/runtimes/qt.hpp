// Qt Concurrent: run() on a thread pool with threads that stay. Each call makes a future, which is
// dropped.
#pragma once

#include "support/work_item.hpp"

#include <QtConcurrent/QtConcurrentRun>
#include <QtCore/QThreadPool>

#include <cstdint>
#include <utility>

namespace bench {

class qt_runtime {
public:
    static constexpr const char* name = "qt";
    using item = work_item;

    explicit qt_runtime(std::uint64_t workers) {
        pool_.setMaxThreadCount(static_cast<int>(workers));
        pool_.setExpiryTimeout(-1);
    }
    ~qt_runtime() { pool_.waitForDone(); }

    void post(item& task) {
        post_one_shot([&task] { task.run(task); });
    }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        QtConcurrent::run(&pool_, std::forward<Callable>(callable));
    }

private:
    QThreadPool pool_;
};

}  // namespace bench
