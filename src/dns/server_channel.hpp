// The servers, as c-ares asks them.
//
//     query (a task) -> ares_query ---+
//                                     v
//     pump (one task, while queries are under way): waits for the sockets or the next time-out
//                                     |
//                                     v
//     ares_process_fd -> on_answer -> the event of the query -> the task goes on
//
// 1. c-ares is not thread-safe: each call is under `mutex_`. Its callbacks come from inside its
//    calls, so under the mutex, too.
// 2. c-ares opens and closes sockets inside its calls. They are in an epoll of their own, which the
//    pump watches as one descriptor: a socket that is closed leaves it by itself, and no task waits
//    for a number that is used again.
// 3. c-ares calls back exactly once for each query, at the latest when the channel is destroyed. It
//    cannot end one query alone, so a query that no task waits for ends by its time-outs.
// 4. c-ares 1.18 forgets the code of a refusal when it goes to the next server, and asks a single
//    server again at once. So it hands each answer over (ARES_FLAG_NOCHECKRESP), and going on is
//    done here: line n is a channel of c-ares with the servers from the n-th on, and a query that
//    is refused on a line goes to the next one. Silence is c-ares' matter, within a line.
// 5. The pump ends when nothing is under way. Then the channel has no socket, no task, and no
//    registration with the driver. `is_pumped_` and the watch change together, under `mutex_`, so
//    that the next pump may watch the epoll.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/dns/query.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/io/watch.hpp>
#include <fairlead/os/unique_fd.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

struct ares_channeldata;

namespace fairlead::dns::detail {

class server_channel {
public:
    [[nodiscard]] static std::expected<std::shared_ptr<server_channel>, std::error_code> make(
        executor where, const resolver_options& options);
    explicit server_channel(executor where, const resolver_options& options);
    server_channel(const server_channel&) = delete;
    server_channel& operator=(const server_channel&) = delete;
    ~server_channel();

    /// A `query` of `self`.
    [[nodiscard]] static task<answer> ask(std::shared_ptr<server_channel> self, std::string name,
                                          family of);

    /// Ends all queries with this, once and for all.
    void close() noexcept;

    /// What the configuration of the system says.
    [[nodiscard]] const std::vector<std::string>& search() const noexcept { return search_; }
    [[nodiscard]] unsigned ndots() const noexcept { return ndots_; }

private:
    struct asked;

    struct line {
        server_channel& owner;
        std::uint32_t number;
        ares_channeldata* channel = nullptr;
    };

    [[nodiscard]] std::error_code open(const resolver_options& options);
    [[nodiscard]] std::error_code open_line(const resolver_options& options);
    [[nodiscard]] std::error_code open_lines(const resolver_options& options);
    [[nodiscard]] std::error_code read_configuration();
    [[nodiscard]] std::shared_ptr<asked> begin(const std::shared_ptr<server_channel>& self,
                                               const std::string& name, family of);
    [[nodiscard]] static task<> pump(std::shared_ptr<server_channel> self);
    [[nodiscard]] std::optional<time_point> next_time_out(io::watch& sockets) noexcept;
    void process() noexcept;
    void send(std::shared_ptr<asked>& query) noexcept;
    void cancel_all(std::error_code why) noexcept;
    void give_up(io::watch& sockets, std::error_code why) noexcept;

    static void on_answer(void* given, int status, int timeouts, unsigned char* message, int size);
    static void on_socket(void* of_line, int fd, int readable, int writable);

    const executor where_;
    const std::size_t addresses_max_;
    std::vector<std::string> search_;
    unsigned ndots_ = 1;
    os::unique_fd sockets_;    // the epoll
    unsigned fork_depth_ = 0;  // of the process that has made it
    auto_event begun_;         // a query has begun: its time-out may be the next

    sync::mutex mutex_;
    // All guarded by mutex_.
    std::vector<std::unique_ptr<line>> lines_;
    std::size_t under_way_ = 0;
    bool is_pumped_ = false;
    bool is_closed_ = false;
    std::error_code ends_with_ = errc::closed;  // what c-ares cancels
};

}  // namespace fairlead::dns::detail
