// libuv: a uv_timer_t each, by the millisecond. Other threads set them through the loop's.
#include "support/libuv_loop.hpp"
#include "w9/timers.hpp"

#include <functional>

namespace {

class libuv_timers {
public:
    static constexpr const char* name = "libuv";

    explicit libuv_timers(std::uint64_t) {}  // one thread, whatever it is told

    class timer {
    public:
        explicit timer(libuv_timers& at) : loop_{at.loop_} {}
        timer(const timer&) = delete;
        timer& operator=(const timer&) = delete;
        ~timer() {
            loop_.post([handle = handle_] {
                uv_close(reinterpret_cast<uv_handle_t*>(handle),
                         [](uv_handle_t* closed) { delete reinterpret_cast<uv_timer_t*>(closed); });
            });
        }

        template <class Handler>
        void set(bench::time_point deadline, Handler handler) {
            handler_ = handler;
            handle_ = new uv_timer_t;
            handle_->data = this;
            loop_.post([this, deadline] { start(deadline); });
        }
        void cancel() {
            loop_.post([this] {
                uv_timer_stop(handle_);
                handler_();
            });
        }

    private:
        void start(bench::time_point deadline) {
            using std::chrono::ceil, std::chrono::milliseconds;
            const auto due_ms =
                static_cast<std::uint64_t>(ceil<milliseconds>(deadline.time_since_epoch()).count());
            uv_timer_init(loop_.get(), handle_);
            uv_update_time(loop_.get());
            const std::uint64_t now_ms = uv_now(loop_.get());  // of the same clock
            uv_timer_start(
                handle_,
                [](uv_timer_t* expired) { static_cast<timer*>(expired->data)->handler_(); },
                due_ms > now_ms ? due_ms - now_ms : 0, 0);
        }

        bench::libuv_loop& loop_;
        uv_timer_t* handle_ = nullptr;  // the loop's, and freed when that has closed it
        std::function<void()> handler_;
    };

    void settle() {
        std::binary_semaphore reached{0};
        loop_.post([&reached] { reached.release(); });
        reached.acquire();
    }

private:
    bench::libuv_loop loop_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w9::main<libuv_timers>(argc, argv); }
