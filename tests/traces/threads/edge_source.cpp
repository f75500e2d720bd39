// Traces of what tasks that read wait for, for EdgeSourceTrace: workers 2 and 3 run one reader for
// each of two connections, threads 5 and 6 are their peers, which also wake the readers; thread 1
// starts and stops.
//
// The real driver with epoll and real sockets, and small readers, which post themselves after each
// attempt.
#include "decisions.hpp"
#include "recordings.hpp"

#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

namespace fairlead::traces {
namespace {

constexpr std::size_t count_of_readers = 2;

class scenario {
public:
    explicit scenario(history& calls)
        : calls_{calls}, decisions_{calls, tasks(), decisions::about::edges} {
        for (reader& each : readers_) each.connect(*scheduler_, *this);
        decisions_.wait_for(sources());
    }

    void run() {
        for (reader& each : readers_) each.post();
        in_threads([&] { talk(0); }, [&] { talk(1); });
        // With a planted bug one may miss its end.
        for (unsigned passes = 0; left_.load(sync::acquire) != 0; ++passes) {
            linger();
            if (passes < 100) continue;
            for (std::size_t i = 0; i != count_of_readers; ++i) wake(i);
        }
        decisions_.stops(*scheduler_);
    }

private:
    class reader : public basic_task {
    public:
        reader() : basic_task{kind, "reader"} {}

        void connect(scheduler& home, scenario& all) {
            int ends[2];
            constexpr int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
            if (::socketpair(AF_UNIX, type, 0, ends) != 0) give_up("cannot make a socket pair");
            peer_ = os::unique_fd{ends[1]};
            auto registered =
                io::descriptor::make(io::epoll_driver::of(home), os::unique_fd{ends[0]});
            if (!registered) give_up("cannot register a socket");
            own_ = std::move(*registered);
            home_ = &home;
            all_ = &all;
        }

        void post() {
            wait_for(own_.readable());
            home_->post_deadline(*this, never);
        }

        // 0: nothing; 1: data; 2: the end.
        [[nodiscard]] unsigned read() const {
            std::array<std::byte, 1024> buffer;
            const auto count = ::recv(own_.fd(), buffer.data(), buffer.size(), 0);
            return count > 0 ? 1 : count == 0 ? 2 : 0;
        }
        void close() { own_.close(); }

        [[nodiscard]] bool send() const {
            const char one = 'x';
            return ::send(peer_.get(), &one, 1, MSG_NOSIGNAL) == 1;
        }
        [[nodiscard]] bool end() const { return ::shutdown(peer_.get(), SHUT_WR) == 0; }

        [[nodiscard]] wait_source& source() const { return own_.readable(); }

    private:
        static void run(basic_task& self) noexcept {
            auto& own = static_cast<reader&>(self);
            own.all_->step(own);
        }
        static void abandon(basic_task&) noexcept {}
        static constexpr task_kind kind{&run, &abandon};

        scheduler* home_ = nullptr;
        scenario* all_ = nullptr;
        io::descriptor own_;
        os::unique_fd peer_;
    };

    static scheduler_options options() {
        scheduler_options options;
        options.blocked_after = duration::zero();  // the specifications have no monitor
        options.workers = 2;
        options.driver = std::make_unique<io::epoll_driver>();
        return options;
    }
    std::array<basic_task*, count_of_readers> tasks() { return {&readers_[0], &readers_[1]}; }
    std::array<wait_source*, count_of_readers> sources() {
        return {&readers_[0].source(), &readers_[1].source()};
    }

    void talk(std::size_t index) {
        for (unsigned left = 1 + choose(3); left != 0; --left) {
            linger();
            calls_.note(this_thread(), "send", index + 1, [&] { return readers_[index].send(); });
            if (choose(4) == 0) wake(index);
        }
        if (choose(4) == 0) linger();
        calls_.note(this_thread(), "end", index + 1, [&] { return readers_[index].end(); });
    }
    void wake(std::size_t index) {
        decisions_.notifies("wake", readers_[index], [&] { readers_[index].wakeup(); });
    }

    // Waits a short time for an event, which may come while no task waits for it.
    void go_on() {
        const unsigned told = decisions_.events_told();
        for (unsigned left = 20; left != 0 && decisions_.events_told() == told; --left) linger();
        linger();
    }

    void step(reader& self) {
        const auto number = static_cast<std::size_t>(&self - readers_.data()) + 1;
        const auto seen = calls_.note(this_thread(), "read", number, [&] { return self.read(); });
        if (choose(4) != 0) go_on();
        if (seen != 2) {
            self.post();
            return;
        }
        calls_.note_done(this_thread(), "close", number, [&] { self.close(); });
        left_.fetch_sub(1, sync::acq_rel);
    }

    history& calls_;
    std::array<reader, count_of_readers> readers_;
    sync::atomic<std::size_t> left_{count_of_readers};
    decisions decisions_;
    std::optional<scheduler> scheduler_{std::in_place, options()};
};

}  // namespace

void record_edge_source(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "EdgeSource", variant, count, [](history& calls) {
        scenario all{calls};
        all.run();
    });
}

}  // namespace fairlead::traces
