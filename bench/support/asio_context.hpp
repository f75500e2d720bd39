// Boost.Asio's io_context, run by `workers` threads.
#pragma once

#include <utility>  // Boost 1.74 uses std::exchange without it

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <thread>
#include <vector>

namespace bench {

class asio_context {
public:
    explicit asio_context(std::uint64_t workers) : context_{static_cast<int>(workers)} {
        for (std::uint64_t i = 0; i != workers; ++i) {
            threads_.emplace_back([this] { context_.run(); });
        }
    }
    asio_context(const asio_context&) = delete;
    asio_context& operator=(const asio_context&) = delete;
    ~asio_context() { stop(); }

    [[nodiscard]] boost::asio::io_context& get() noexcept { return context_; }

    /// Ends the threads, whatever is left; its owner may then be destroyed.
    void stop() {
        context_.stop();
        for (std::thread& each : threads_) each.join();
        threads_.clear();
    }

private:
    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_{
        context_.get_executor()};
    std::vector<std::thread> threads_;
};

}  // namespace bench
