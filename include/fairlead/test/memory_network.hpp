// TCP and streams of Unix sockets in memory and in virtual time: servers and clients run as they
// are, without sockets, and each run is the same.
//
//     fl::test::simulated_scheduler simulated{[](fl::test::manual_clock& clock) {
//         return std::make_unique<fl::test::memory_network>(clock);
//     }};
//     EXPECT_EQ(simulated.run(a_client_of(a_server())), "answer");
//
// It is the driver of its scheduler, and the network of that scheduler alone. What comes later,
// such as a message with latency, is an event at a point of virtual time: where a real driver would
// sleep, the clock jumps to the next event or deadline.
#pragma once

#include <fairlead/io/network.hpp>
#include <fairlead/test/jumping_driver.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace fairlead::test {

/// What a `memory_network` does to its connections.
struct memory_network_options {
    std::uint64_t seed = 0;            ///< of the lengths and latencies below
    bool short_moves = false;          ///< a read or a write moves any number of bytes, at least 1
    duration latency_min{};            ///< of each message on its way, and of each connect
    duration latency_max{};            ///< at most; messages of one direction keep their order
    std::size_t buffer = 64UL * 1024;  ///< bytes that a direction holds; then writes wait
    /// A connection is reset when one of its ends has sent this many bytes; they arrive before. 0:
    /// never.
    std::uint64_t reset_after = 0;
};

/// A driver with a network in memory, for a `simulated_scheduler`. All calls on the thread of its
/// scheduler; `wake` on any. It aborts when there is no memory. The memory of closed connections
/// is freed with the network, but for their data.
class memory_network final : public jumping_driver, public io::network {
public:
    /// `moved` must outlive it.
    explicit memory_network(manual_clock& moved, memory_network_options options = {});
    memory_network(const memory_network&) = delete;
    memory_network& operator=(const memory_network&) = delete;
    ~memory_network() override;

    /// The network of `home`, whose driver must be one.
    [[nodiscard]] static memory_network& of(const scheduler& home);

    /// What connections do from now on.
    void set_options(const memory_network_options& options) noexcept { options_ = options; }
    /// Connects are not answered from now on, or are again: those that are under way are tried
    /// again after 1 s, 2 s, 4 s and so on, as the kernel does.
    void set_unreachable(bool unreachable) noexcept { is_unreachable_ = unreachable; }
    /// The same of connects to one address and port alone.
    void set_unreachable(const io::address& peer, bool unreachable);
    /// The next `count` accepts find no descriptor (EMFILE); their connections wait.
    void starve_accepts(unsigned count) noexcept { starved_accepts_ = count; }
    /// Resets all connections: what has arrived can still be read.
    void reset_all() noexcept;

    [[nodiscard]] std::expected<socket*, std::error_code> listen(
        const io::address& where, const io::listener_options& options) override;
    [[nodiscard]] std::expected<begun_connect, std::error_code> connect(
        const io::address& peer, const io::stream_options& options) override;

    /// Jumps to the next event or deadline.
    void wait() noexcept override;
    void poll(event_sink& sink) noexcept override;
    /// Whether there are open sockets.
    [[nodiscard]] bool has_sources() const noexcept override { return open_ != 0; }

private:
    class source;
    class end;

    void at(time_point when, std::function<void()> what);
    [[nodiscard]] duration latency();
    [[nodiscard]] std::size_t some_of(std::size_t most);
    [[nodiscard]] end& make_end(const io::address& local);
    [[nodiscard]] end* listener_at(const io::address& where) const noexcept;
    [[nodiscard]] std::uint16_t free_port() noexcept;
    [[nodiscard]] io::address free_address(const io::address& of_kind);
    [[nodiscard]] bool is_unreachable(const io::address& peer) const noexcept;
    void arrive(end& client, duration patience);
    void answer(end& client, int error);
    void notify(source& ready);

    manual_clock& clock_;
    memory_network_options options_;
    std::mt19937_64 random_;
    std::multimap<time_point, std::function<void()>> events_;  // equal times: in order
    std::vector<std::unique_ptr<end>> ends_;                   // closed ones, too
    std::vector<source*> ready_;
    std::size_t open_ = 0;
    unsigned starved_accepts_ = 0;
    std::uint16_t last_port_ = 32767;
    bool is_unreachable_ = false;
    std::vector<io::address> unreachable_;
};

}  // namespace fairlead::test
