// Boost.Asio's thread_pool. It has no intrusive tasks: a callback task is posted as a closure that
// holds its address, which it allocates (from a cache of the thread when posted by a worker).
#pragma once

#include "support/work_item.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <utility>

namespace bench {

class asio_runtime {
public:
    static constexpr const char* name = "asio";
    using item = work_item;

    explicit asio_runtime(std::uint64_t workers) : pool_{workers} {}
    ~asio_runtime() { pool_.join(); }

    void post(item& task) {
        boost::asio::post(pool_, [&task] { task.run(task); });
    }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        boost::asio::post(pool_, std::forward<Callable>(callable));
    }

private:
    boost::asio::thread_pool pool_;
};

}  // namespace bench
