// A state machine without coroutines: a download that a library with threads of its own carries
// out, with a time limit, and that frees itself when it is over.
#include <fairlead/fairlead.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

// Stands for any library with callbacks. Calls `done` once, on a thread of its own: after `takes`
// with the text, or at once with nothing when the request is cancelled.
class web {
public:
    void get_async(std::string url, std::chrono::milliseconds takes, std::stop_token cancelled,
                   std::function<void(std::string)> done) {
        std::lock_guard lock{mutex_};
        threads_.emplace_back(
            [url = std::move(url), takes, cancelled, done = std::move(done)]() mutable {
                std::mutex mutex;
                std::condition_variable_any never_notified;
                std::unique_lock held{mutex};
                never_notified.wait_for(held, cancelled, takes, [] { return false; });
                done(cancelled.stop_requested() ? "" : "the text of " + url);
            });
    }

private:
    std::mutex mutex_;
    std::vector<std::jthread> threads_;  // guarded by mutex_
};

// [download]
class download final : public fl::callback_task {
public:
    download(fl::scheduler& home, web& net, std::string url, std::chrono::milliseconds takes)
        : callback_task{step<&download::begin>, "download"},
          home_{home},
          net_{net},
          url_{std::move(url)},
          takes_{takes} {}

private:
    template <void (download::*Step)()>
    static void step(callback_task& self) {
        (static_cast<download&>(self).*Step)();
    }

    void begin() {
        net_.get_async(url_, takes_, cancel_.get_token(), [this](std::string text) {
            text_ = std::move(text);
            signal();  // the last touch: the step that receives it may free the task
        });
        set_callback(step<&download::finish>);
        home_.post_deadline(*this, home_.now() + 50ms);
    }

    void finish() {
        if (receive_signal()) {  // first, because a signal and the deadline may come together
            std::printf("%s: %s\n", url_.c_str(), text_.empty() ? "cancelled" : text_.c_str());
            delete this;  // after the step the scheduler does not touch the task
            return;
        }
        if (expired()) {
            std::printf("%s: too slow\n", url_.c_str());
            cancel_.request_stop();
        }
        home_.post_wait(*this);  // the library still refers to this task: wait for its signal
    }

    fl::scheduler& home_;
    web& net_;
    std::string url_;
    std::chrono::milliseconds takes_;
    std::stop_source cancel_;
    std::string text_;
};
// [/download]

int main() {
    web net;
    // [main]
    fl::scheduler scheduler{{.workers = 2}};
    scheduler.post(*new download{scheduler, net, "quick.example", 5ms});
    scheduler.post(*new download{scheduler, net, "stuck.example", 1h});
    scheduler.drain();  // both are over and freed
    // [/main]
}
