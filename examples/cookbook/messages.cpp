// Messages that make messages: each of 100 messages makes 100 more, through 100 ports. The program
// takes another number, too: with 1000 it is the experiment of iris, 1.001 million messages.
#include <fairlead/fairlead.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fl = fairlead;

namespace {

// [boxes]
struct message {
    bool makes_more = false;
};

// A port and its receiver, which handles one message at a time: so its count needs no lock.
struct box {
    fl::port<message> port;
    int handled = 0;
};

class boxes {
public:
    boxes(fl::executor where, int count)
        : all_(static_cast<std::size_t>(count)), unfinished_{static_cast<std::uint32_t>(count)} {
        for (box& each : all_) {
            receivers_.push_back(each.port.receive_with(
                where, [this, &each](message one) { handle(each, one); }, {.name = "box"}));
        }
    }

    // One message to each box; returns when all have been handled that come of these.
    void run() {
        for (box& each : all_) each.port.try_send({.makes_more = true});
        static_cast<void>(unfinished_.wait_blocking());
        for (box& each : all_) each.port.close();
        for (const fl::port_receiver& each : receivers_) static_cast<void>(each.ended_blocking());
    }

    [[nodiscard]] std::uint64_t handled() const {
        std::uint64_t sum = 0;
        for (const fl::port_receiver& each : receivers_) sum += each.stats().handled;
        return sum;
    }

private:
    void handle(box& self, message one) {
        if (one.makes_more) {
            for (box& each : all_) each.port.try_send({});
        }
        const auto expected = static_cast<int>(all_.size()) + 1;
        if (++self.handled == expected) unfinished_.arrive();
    }

    std::vector<box> all_;
    std::vector<fl::port_receiver> receivers_;  // end before their ports
    fl::latch unfinished_;
};
// [/boxes]

// [scheduler]
std::uint64_t run(int count, fl::policy order) {
    fl::scheduler pool{{.policy = order}};  // the one line that differs
    boxes all{pool, count};
    const fl::time_point begin = fl::clock::now();
    all.run();
    const std::chrono::duration<double> time = fl::clock::now() - begin;
    std::printf("%-8s %llu messages in %.3f s\n", order == fl::policy::fair ? "fair" : "stealing",
                static_cast<unsigned long long>(all.handled()), time.count());
    return all.handled();
}
// [/scheduler]

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 100;
    const auto expected = static_cast<std::uint64_t>(count) * (count + 1);
    const bool fair = run(count, fl::policy::fair) == expected;
    const bool stealing = run(count, fl::policy::stealing) == expected;
    return fair && stealing ? 0 : 1;
}
