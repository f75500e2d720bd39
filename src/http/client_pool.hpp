// The connections of a client, by origin.
//
// A request takes one permit of its origin, which bounds the connections, and then an idle
// connection or a new one. The last that came back is the first to be used, so that the oldest ones
// grow idle and are closed. The mutex is held for a few moves alone; connections are closed
// outside of it.
#pragma once

#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/http/client.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <cstddef>
#include <expected>
#include <map>
#include <memory>
#include <system_error>
#include <vector>

namespace fairlead::http::detail {

class client_pool : public std::enable_shared_from_this<client_pool> {
    struct kept {
        std::unique_ptr<transport> stream;
        time_point since;
    };
    struct site {
        explicit site(std::uint32_t connections_max) : places{connections_max} {}
        semaphore places;
        std::vector<kept> idle;  // the newest last; guarded by mutex_
        std::size_t users = 0;   // of the site, waiting or with a permit; guarded by mutex_
    };

public:
    // A connection that a request uses, and the right to have it. Its end closes the connection.
    class lease {
    public:
        lease() = default;
        lease(lease&& other) noexcept;
        lease& operator=(lease&& other) noexcept;
        ~lease() { end(); }

        [[nodiscard]] transport& stream() const noexcept { return *stream_; }
        // Whether an earlier request has used it.
        [[nodiscard]] bool reused() const noexcept { return reused_; }
        // Gives the connection back for the next request.
        void give_back() noexcept;

    private:
        friend class client_pool;
        void end() noexcept;

        std::shared_ptr<client_pool> pool_;
        site* site_ = nullptr;
        semaphore_units place_;
        std::unique_ptr<transport> stream_;
        bool reused_ = false;
    };

    client_pool(connector connects, client_options given)
        : options{std::move(given)}, connects_{std::move(connects)} {}

    // Waits for a permit, and takes or makes a connection. `fresh`: makes one in any case.
    [[nodiscard]] task<std::expected<lease, std::error_code>> take(origin to, time_point deadline);
    // Closes the connection of a lease and makes another one.
    [[nodiscard]] task<std::error_code> renew(lease& of, const origin& to, time_point deadline);

    void close_idle() noexcept;
    void count_request() noexcept;
    void count_retry() noexcept;
    [[nodiscard]] client_stats stats() const noexcept;

    const client_options options;

private:
    [[nodiscard]] site& enter(const origin& to);
    void leave(site& of) noexcept;
    [[nodiscard]] std::unique_ptr<transport> take_idle(site& of);

    const connector connects_;
    mutable sync::mutex mutex_;
    std::map<origin, site> sites_;  // guarded by mutex_
    client_stats stats_;            // guarded by mutex_
};

}  // namespace fairlead::http::detail
