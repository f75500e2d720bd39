// What a resolver is: the way of a name through literals, the file of hosts, the cache and queries.
#pragma once

#include "dns/answers.hpp"
#include "dns/hosts_file.hpp"
#include "dns/server_channel.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/dns/resolver.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::dns::detail {

/// Takes all addresses that are known so far, the best first, and whether they are all.
using sink = std::function<void(const std::vector<io::address>& all, bool complete)>;

class resolver_state {
public:
    resolver_state(executor where, resolver_options options);
    [[nodiscard]] std::error_code open();

    /// Tells `told` of the addresses of `host`, each time that some have come. None, or why there
    /// are no addresses, or why there may be more. `told` lives until the task has ended.
    [[nodiscard]] static task<std::error_code> find(std::shared_ptr<resolver_state> self,
                                                    std::string host, std::uint16_t port,
                                                    time_point deadline, const sink& told);

    /// Ends all that is under way.
    void close() noexcept;
    [[nodiscard]] answers& known() noexcept { return known_; }

private:
    /// The answers for one complete name, of each family that is wanted.
    struct both {
        std::shared_ptr<entry> v6, v4;  // null: not wanted
    };
    [[nodiscard]] static std::expected<both, std::error_code> ask_for(
        const std::shared_ptr<resolver_state>& self, const std::string& name);
    [[nodiscard]] static std::expected<std::shared_ptr<entry>, std::error_code> ask_for(
        const std::shared_ptr<resolver_state>& self, const std::string& name, family of);
    /// Lands an entry at its end: also when the task of the query is destroyed with its scheduler,
    /// or was not made for lack of memory.
    class landing {
    public:
        landing(std::shared_ptr<resolver_state> in, std::shared_ptr<entry> of) noexcept
            : in_{std::move(in)}, of_{std::move(of)} {}
        landing(landing&&) noexcept = default;
        landing& operator=(landing&&) = delete;
        ~landing();

        [[nodiscard]] const key& asked() const noexcept { return of_->asked; }
        answer said{.failure = errc::closed, .addresses = {}};

    private:
        std::shared_ptr<resolver_state> in_;
        std::shared_ptr<entry> of_;
    };
    /// The task of a query.
    [[nodiscard]] static task<> fetch(std::shared_ptr<resolver_state> self, landing ends);

    [[nodiscard]] task<std::error_code> tell_as_they_land(both asked, std::uint16_t port,
                                                          time_point deadline, const sink& told);
    void tell(std::vector<io::address> all, std::uint16_t port, bool complete,
              const sink& told) const;
    [[nodiscard]] bool wants(const io::address& each) const noexcept {
        return each.is_v6() ? options_.use_v6 : options_.use_v4;
    }

    const executor where_;
    resolver_options options_;
    hosts_file hosts_;
    answers known_{options_};
    semaphore turns_;
    query by_;
    std::shared_ptr<server_channel> servers_;  // null: the options have a query
    std::stop_source closed_;                  // of the tasks of queries
};

}  // namespace fairlead::dns::detail
