// libuv's loop on a thread of its own, and a way to reach it: all of libuv but uv_async_send
// belongs to the thread of the loop.
#pragma once

#include <uv.h>

#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline void check_uv(int result, const char* what) {
    if (result < 0) throw std::runtime_error{std::string{what} + ": " + uv_strerror(result)};
}

class libuv_loop {
public:
    libuv_loop() {
        check_uv(uv_loop_init(&loop_), "uv_loop_init");
        check_uv(uv_async_init(&loop_, &arrived_, run_posted), "uv_async_init");
        arrived_.data = this;
        thread_ = std::thread{[this] { uv_run(&loop_, UV_RUN_DEFAULT); }};
    }
    libuv_loop(const libuv_loop&) = delete;
    libuv_loop& operator=(const libuv_loop&) = delete;
    /// Waits until all handles are closed.
    ~libuv_loop() {
        post([this] { uv_close(reinterpret_cast<uv_handle_t*>(&arrived_), nullptr); });
        thread_.join();
        uv_loop_close(&loop_);
    }

    /// For the thread of the loop.
    [[nodiscard]] uv_loop_t* get() noexcept { return &loop_; }

    void post(std::function<void()> closure) {
        {
            std::lock_guard lock{mutex_};
            posted_.push_back(std::move(closure));
        }
        uv_async_send(&arrived_);
    }

private:
    static void run_posted(uv_async_t* arrived) {
        libuv_loop& self = *static_cast<libuv_loop*>(arrived->data);
        {
            std::lock_guard lock{self.mutex_};
            std::swap(self.running_, self.posted_);
        }
        for (const auto& each : self.running_) each();
        self.running_.clear();
    }

    uv_loop_t loop_;
    uv_async_t arrived_;
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
    std::vector<std::function<void()>> running_;  // the loop's
    std::thread thread_;
};

}  // namespace bench
