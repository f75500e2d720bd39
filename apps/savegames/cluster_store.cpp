#include "savegames/cluster_store.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/message/gate.hpp>
#include <fairlead/redis/client.hpp>
#include <fairlead/sched/scheduler.hpp>

#ifdef SAVEGAMES_WITH_NAMES
#include <fairlead/dns/connect.hpp>
#endif

#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "savegames/held_leases.hpp"
#include "savegames/postgres_saves.hpp"
#include "savegames/redis_leases.hpp"
#include "savegames/redis_url.hpp"
#include "savegames/under_way.hpp"

namespace savegames {
namespace {

namespace fl = fairlead;
namespace pg = fairlead::postgres;
namespace redis = fairlead::redis;

constexpr unsigned threads = 2;
constexpr std::chrono::seconds release_max{10};  // for one whose lease is not known
constexpr std::chrono::seconds probe_max{2};
constexpr std::chrono::seconds end_max{5};  // for operations under way at the end
constexpr std::chrono::milliseconds reconnect_max{500};

redis::client_options options_of(const redis_place& place, const cluster_options& given) {
    return {.user = place.user,
            .password = place.password,
            .name = "savegames",
            .database = place.database,
            .connect_limit = given.offline_max,
            .stall = given.offline_max,
            .reconnect_max = reconnect_max,
            .offline_max = given.offline_max};
}

pg::pool_options options_of(const cluster_options& given) {
    return {.min = 1,
            .max = given.connections,
            .connect_limit = given.offline_max,
            .reconnect_max = reconnect_max,
            .offline_max = given.offline_max};
}

// How to connect to a Redis, and what that needs.
class way_to_redis {
public:
    // The error is a sentence for a person.
    std::expected<redis::connector, std::string> make(fl::scheduler& home,
                                                      const redis_place& place) {
        if (place.host.empty()) return redis::connect_unix(place.path);
        const std::string host = place.host == "localhost" ? "127.0.0.1" : place.host;
        if (const auto address = fl::io::address::parse(host, place.port)) {
            return redis::connect_tcp(*address);
        }
#ifdef SAVEGAMES_WITH_NAMES
        auto made = fl::dns::resolver::make(home);
        if (!made) {
            return std::unexpected("cannot look up names: " + made.error().message());
        }
        names_ = std::make_unique<fl::dns::resolver>(std::move(*made));
        return redis::connect_tcp(fl::dns::by_name(*names_), host, place.port);
#else
        static_cast<void>(home);
        return std::unexpected(
            "this program was built without c-ares, so the host must be an "
            "address, not the name " +
            host);
#endif
    }

private:
#ifdef SAVEGAMES_WITH_NAMES
    std::unique_ptr<fl::dns::resolver> names_;  // the connector refers to it
#endif
};

class cluster_store final : public save_store {
public:
    cluster_store(const cluster_options& given, const redis_place& place, way_to_redis names,
                  redis::connector connect, std::unique_ptr<fl::scheduler> home)
        : home_{std::move(home)},
          names_{std::move(names)},
          room_{given.count_max, given.bytes_max},
          redis_{*home_, std::move(connect), options_of(place, given)},
          pool_{*home_, given.blobs, options_of(given)} {}

    // What is under way ends: at `end_max` it is stopped, and fails. Then the connections end.
    ~cluster_store() override {
        const time_point limit = fl::after(clock::now(), end_max);
        if (!inside_.close_blocking(limit)) {
            stop_.request_stop();
            static_cast<void>(inside_.close_blocking());
        }
        static_cast<void>(fl::block_on(*home_, redis_.close(limit)));
        static_cast<void>(fl::block_on(*home_, pool_.close(limit)));
    }
    cluster_store(const cluster_store&) = delete;
    cluster_store& operator=(const cluster_store&) = delete;

    std::expected<void, std::string> start(std::chrono::milliseconds limit);

    void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                 completion<lock_result> done) override;
    void release(const profile_key& key, owner_token owner, completion<void> done) override;
    void get(const profile_key& key, time_point deadline, completion<save> done) override;
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override;
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override;

    [[nodiscard]] store_counters counters() const override;
    [[nodiscard]] std::expected<void, std::string> ready() const override;

private:
    enum class kind : std::uint8_t { lock, unlock, read, write };

    template <class T>
    void begin(kind what, const std::string& game, std::size_t bytes,
               fl::task<server_result<T>> body, completion<T> done);
    template <class T>
    fl::task<> run(kind what, fl::task<server_result<T>> body, completion<T> done,
                   fl::gate_hold inside, under_way::place place);
    fl::task<server_result<lock_result>> lock(profile_key key, owner_token owner,
                                              std::chrono::milliseconds lease);
    fl::task<server_result<void>> unlock(profile_key key, owner_token owner);
    fl::task<server_result<std::uint64_t>> write(saves_write what,
                                                 std::optional<owner_token> owner);
    void begin_write(const profile_key& key, const write_condition& condition,
                     std::optional<save> value, completion<std::uint64_t> done);
    fl::task<> probe(bool by_a_write, fl::gate_hold inside) const;
    void count(kind what, const server_failure* failure);

    const std::unique_ptr<fl::scheduler> home_;  // ends last
    way_to_redis names_;
    held_leases held_;
    under_way room_;
    redis::client redis_;
    pg::pool pool_;
    mutable redis_leases leases_{redis_};
    mutable postgres_saves saves_{pool_};
    std::stop_source stop_;
    mutable fl::gate inside_;  // each operation, until its answer was given

    mutable std::mutex mutex_;  // guards what follows
    store_counters counters_;
    mutable bool writes_fail_ = false;  // the latest write failed, and no probe has succeeded since
    mutable bool probing_ = false;
    mutable std::string unready_;  // what the latest probe has found; empty: nothing
};

// --- operations ----------------------------------------------------------------------------------

// Starts an operation, or refuses it at once. There is always room to give a lock back.
template <class T>
void cluster_store::begin(kind what, const std::string& game, std::size_t bytes,
                          fl::task<server_result<T>> body, completion<T> done) {
    under_way::place place;
    const grant answer = what == kind::unlock ? grant::granted : room_.enter(game, bytes, place);
    fl::gate_hold inside = inside_.try_concurrent();
    if (answer != grant::granted || !inside) {
        {
            const std::lock_guard lock{mutex_};
            ++counters_.refused;
        }
        const error full = answer == grant::over_share ? error::over_share : error::overloaded;
        done(std::unexpected(inside ? full : error::store_failed));
        return;
    }
    fl::spawn(*home_,
              run(what, std::move(body), std::move(done), std::move(inside), std::move(place)),
              {.name = "store operation", .stop = stop_.get_token(), .detached = true})
        .detach();
}

template <class T>
fl::task<> cluster_store::run(kind what, fl::task<server_result<T>> body, completion<T> done,
                              fl::gate_hold inside, under_way::place place) {
    {
        const std::lock_guard lock{mutex_};
        counters_.queued_reads += what == kind::read ? 1 : 0;
        counters_.queued_writes += what == kind::write ? 1 : 0;
    }
    server_result<T> result = std::unexpected{server_failure{}};
    try {
        result = co_await std::move(body);
    } catch (const std::exception& caught) {  // a stop, or no memory
        result.error().text = caught.what();
    }
    count(what, result ? nullptr : &result.error());
    place.leave();
    if (result) {
        if constexpr (std::is_void_v<T>) {
            done({});
        } else {
            done(std::move(*result));
        }
    } else {
        done(std::unexpected(result.error().code));
    }
    done = nullptr;  // what it keeps may end with it
    inside.leave();  // from here on the store may end
}

void cluster_store::count(kind what, const server_failure* failure) {
    const std::lock_guard lock{mutex_};
    const bool overdue = failure != nullptr && failure->code == error::deadline;
    const bool failed = failure != nullptr && failure->code == error::store_failed;
    counters_.overdue += overdue ? 1 : 0;
    counters_.failures += failed ? 1 : 0;
    if (failed) counters_.last_failure = failure->text;
    if (what == kind::read) {
        --counters_.queued_reads;
        counters_.reads += overdue ? 0 : 1;
    }
    if (what == kind::write) {
        --counters_.queued_writes;
        counters_.writes += overdue ? 0 : 1;
        counters_.commits += failure == nullptr ? 1 : 0;
        if (!overdue) writes_fail_ = failed;
    }
}

// The lease begins before Redis is asked, so for this process it ends before it ends in Redis. The
// fence is read under the lease. If that fails, the caller gives the lease back, as after each
// error.
fl::task<server_result<lock_result>> cluster_store::lock(profile_key key, owner_token owner,
                                                         std::chrono::milliseconds lease) {
    const time_point until = fl::after(clock::now(), lease);
    const auto locked = co_await leases_.acquire(key, owner, lease, until);
    if (!locked || !locked->granted) co_return locked;
    const auto fence = co_await saves_.version(key, until);
    if (!fence) co_return std::unexpected{fence.error()};
    const time_point now = clock::now();
    held_.grant(key, owner, *fence, until, now);
    const auto left = std::chrono::floor<std::chrono::milliseconds>(until - now);
    co_return lock_result{true, std::max(left, std::chrono::milliseconds{0})};
}

fl::task<server_result<void>> cluster_store::unlock(profile_key key, owner_token owner) {
    const time_point now = clock::now();
    const std::optional<time_point> until = held_.end(key, owner);
    const time_point deadline = std::max(until.value_or(now), fl::after(now, release_max));
    const auto had = co_await leases_.release(key, owner, deadline);
    if (!had) co_return std::unexpected{had.error()};
    const bool in_time = until && *until > now;
    if (!*had || !in_time) co_return std::unexpected{server_failure{error::lease_lost}};
    co_return server_result<void>{};
}

fl::task<server_result<std::uint64_t>> cluster_store::write(saves_write what,
                                                            std::optional<owner_token> owner) {
    if (clock::now() >= what.deadline) {
        co_return std::unexpected{server_failure{error::deadline}};
    }
    const profile_key key = what.key;
    auto written = co_await saves_.write(std::move(what));
    if (written && owner) held_.advance(key, *owner, *written);
    co_return written;
}

void cluster_store::begin_write(const profile_key& key, const write_condition& condition,
                                std::optional<save> value, completion<std::uint64_t> done) {
    const std::size_t bytes = value ? value->data.size() : 0;
    saves_write what{.key = key,
                     .value = std::move(value),
                     .expected_version = condition.expected_version,
                     .deadline = condition.deadline};
    if (condition.owner) {
        what.fence = held_.fence(key, *condition.owner, clock::now());
        if (!what.fence) return done(std::unexpected(error::lease_lost));
    }
    begin(kind::write, key.game.text(), bytes, write(std::move(what), condition.owner),
          std::move(done));
}

// --- the interface -------------------------------------------------------------------------------

void cluster_store::acquire(const profile_key& key, owner_token owner,
                            std::chrono::milliseconds lease, completion<lock_result> done) {
    begin(kind::lock, key.game.text(), 0, lock(key, owner, lease), std::move(done));
}

void cluster_store::release(const profile_key& key, owner_token owner, completion<void> done) {
    begin(kind::unlock, key.game.text(), 0, unlock(key, owner), std::move(done));
}

void cluster_store::get(const profile_key& key, time_point deadline, completion<save> done) {
    if (clock::now() >= deadline) {
        {
            const std::lock_guard lock{mutex_};
            ++counters_.overdue;
        }
        return done(std::unexpected(error::deadline));
    }
    begin(kind::read, key.game.text(), 0, saves_.get(key, deadline), std::move(done));
}

void cluster_store::put(const profile_key& key, const write_condition& condition, save value,
                        completion<std::uint64_t> done) {
    begin_write(key, condition, std::move(value), std::move(done));
}

void cluster_store::erase(const profile_key& key, const write_condition& condition,
                          completion<void> done) {
    auto forget_version =
        [done = std::move(done)](std::expected<std::uint64_t, error> version) mutable {
            if (version) {
                done({});
            } else {
                done(std::unexpected(version.error()));
            }
        };
    begin_write(key, condition, std::nullopt, std::move(forget_version));
}

store_counters cluster_store::counters() const {
    const std::uint64_t connects = redis_.stats().connects + pool_.stats().connects;
    const std::lock_guard lock{mutex_};
    store_counters result = counters_;
    result.connects = connects;
    return result;
}

// --- readiness -----------------------------------------------------------------------------------

// Tells what the latest probe has found, and starts another one.
std::expected<void, std::string> cluster_store::ready() const {
    const std::lock_guard lock{mutex_};
    if (!probing_) {
        fl::gate_hold inside = inside_.try_concurrent();
        if (!inside) return std::unexpected("the store has ended");
        fl::spawn(*home_, probe(writes_fail_, std::move(inside)),
                  {.name = "probe", .stop = stop_.get_token(), .detached = true})
            .detach();
        probing_ = true;
    }
    if (writes_fail_) return std::unexpected("writes fail");
    if (!unready_.empty()) return std::unexpected(unready_);
    return {};
}

fl::task<> cluster_store::probe(bool by_a_write, fl::gate_hold inside) const {
    std::string found;
    try {
        const time_point deadline = fl::after(clock::now(), probe_max);
        const auto saves = co_await saves_.probe(by_a_write, deadline);
        const auto leases = co_await leases_.probe(deadline);
        if (!leases) found = "Redis does not answer";
        if (!saves) found = "PostgreSQL does not answer, or takes no writes";
    } catch (const std::exception&) {  // a stop, or no memory
        found = "the stores were not asked";
    }
    {
        const std::lock_guard lock{mutex_};
        probing_ = false;
        if (found.empty() && by_a_write) writes_fail_ = false;
        unready_ = std::move(found);
    }
    inside.leave();
}

// Waits for both servers.
std::expected<void, std::string> cluster_store::start(std::chrono::milliseconds limit) {
    const time_point deadline = fl::after(clock::now(), limit);
    const auto leases = fl::block_on(*home_, leases_.probe(deadline));
    if (!leases) return std::unexpected("--profiles: " + leases.error().text);
    auto saves = fl::block_on(*home_, saves_.prepare(deadline));
    if (!saves) return std::unexpected("--blobs: " + saves.error());
    return {};
}

}  // namespace

std::expected<std::unique_ptr<save_store>, std::string> open_cluster_store(
    const cluster_options& options) {
    const auto place = parse_redis_url(options.profiles);
    if (!place) return std::unexpected("--profiles: " + place.error());
    auto home = std::make_unique<fl::scheduler>(fl::scheduler_options{
        .workers = threads, .name = "store", .driver = std::make_unique<fl::io::epoll_driver>()});
    way_to_redis names;
    auto connect = names.make(*home, *place);
    if (!connect) return std::unexpected("--profiles: " + connect.error());
    auto made = std::make_unique<cluster_store>(options, *place, std::move(names),
                                                std::move(*connect), std::move(home));
    if (auto started = made->start(options.start_max); !started) {
        return std::unexpected(std::move(started.error()));
    }
    return made;
}

}  // namespace savegames
