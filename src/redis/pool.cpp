#include <fairlead/redis/pool.hpp>

#include "redis/connection.hpp"

#include <fairlead/coro/join_handle.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace fairlead::redis {
namespace detail {

// A connection with its owner, which ends with it.
class member {
public:
    member(executor where, const connector& connect, const client_options& options)
        : connection_{std::make_shared<connection>(connect, options)},
          owner_{spawn(where, connection::run(connection_),
                       {.name = "redis owner", .detached = true})} {}
    member(member&&) noexcept = default;
    member& operator=(member&&) = delete;
    ~member() {
        if (owner_.valid()) owner_.request_stop();
    }

    [[nodiscard]] connection& get() const noexcept { return *connection_; }

private:
    std::shared_ptr<connection> connection_;
    join_handle<void> owner_;
};

class pool_state {
public:
    pool_state(executor where, connector connect, client_options options, std::uint32_t size)
        : where_{where}, connect_{std::move(connect)}, options_{std::move(options)}, lent_{size} {}

    [[nodiscard]] std::unique_ptr<member> take() {
        {
            std::lock_guard lock{mutex_};
            if (!idle_.empty()) {
                auto last = std::move(idle_.back());  // that was used last
                idle_.pop_back();
                return last;
            }
            idle_.reserve(++made_);  // so `give_back` allocates nothing
        }
        try {
            return std::make_unique<member>(where_, connect_, options_);
        } catch (...) {
            std::lock_guard lock{mutex_};
            --made_;
            throw;
        }
    }
    void give_back(std::unique_ptr<member> back, bool is_clean) noexcept {
        const bool is_kept = is_clean && back->get().is_quiet();
        std::lock_guard lock{mutex_};
        if (is_kept && !lent_.is_closed()) {
            idle_.push_back(std::move(back));
        } else {
            --made_;
        }
    }
    void close() noexcept {
        lent_.close();
        std::vector<std::unique_ptr<member>> gone;
        std::lock_guard lock{mutex_};
        gone.swap(idle_);
        made_ -= gone.size();
    }
    [[nodiscard]] std::size_t made() {
        std::lock_guard lock{mutex_};
        return made_;
    }
    [[nodiscard]] semaphore& lent() noexcept { return lent_; }

private:
    const executor where_;
    const connector connect_;
    const client_options options_;
    semaphore lent_;
    sync::mutex mutex_;
    std::vector<std::unique_ptr<member>> idle_;  // guarded by mutex_
    std::size_t made_ = 0;                       // guarded by mutex_
};

class pooled_state {
public:
    pooled_state(std::shared_ptr<pool_state> pool, semaphore_units place)
        : pool_{std::move(pool)}, place_{std::move(place)}, own_{pool_->take()} {}
    pooled_state(const pooled_state&) = delete;
    pooled_state& operator=(const pooled_state&) = delete;
    ~pooled_state() { pool_->give_back(std::move(own_), !is_changed_ && !is_in_transaction); }

    [[nodiscard]] task<result<void>> send(std::span<const command> all, std::span<value> into,
                                          duration waits, time_point deadline) {
        if (std::ranges::any_of(all, &command::changes_connection)) is_changed_ = true;
        return send_of_transaction(all, into, waits, deadline);
    }
    // What these commands change, the EXEC of a transaction ends.
    [[nodiscard]] task<result<void>> send_of_transaction(std::span<const command> all,
                                                         std::span<value> into, duration waits,
                                                         time_point deadline) {
        const bool has_place = std::ranges::none_of(all, &command::breaks_replies);
        if (!has_place) co_return std::unexpected{error{errc::not_shared}};
        request asked{own_->get(), all, into};
        asked.generation = generation_;
        asked.blocks_for = waits;
        result<void> done = co_await asked.finish(deadline);
        generation_ = asked.generation;
        co_return done;
    }

    bool is_in_transaction = false;  // or watches keys for one

private:
    bool is_changed_ = false;                 // for good
    const std::shared_ptr<pool_state> pool_;  // after the units
    semaphore_units place_;                   // after the connection
    std::unique_ptr<member> own_;
    std::uint64_t generation_ = 0;
};

}  // namespace detail

// --- pooled --------------------------------------------------------------------------------------

pooled::pooled(std::unique_ptr<detail::pooled_state> of) noexcept : of_{std::move(of)} {}
pooled::pooled(pooled&& other) noexcept = default;
pooled& pooled::operator=(pooled&& other) noexcept {
    of_ = std::move(other.of_);
    return *this;
}
pooled::~pooled() = default;

task<result<value>> pooled::send(command what, time_point deadline) {
    return send_waiting(std::move(what), duration::zero(), deadline);
}

task<result<value>> pooled::send_waiting(command what, duration waits, time_point deadline) {
    value reply;
    result<void> done = co_await of_->send({&what, 1}, {&reply, 1}, waits, deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    if (reply.is_error()) co_return std::unexpected{error::of_server(std::move(reply).take_text())};
    co_return std::move(reply);
}

task<result<std::vector<value>>> pooled::send_all(std::vector<command> all, time_point deadline) {
    std::vector<value> replies(all.size());
    if (all.empty()) co_return std::move(replies);
    result<void> done = co_await of_->send(all, replies, duration::zero(), deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    co_return std::move(replies);
}

// --- transactions --------------------------------------------------------------------------------

task<result<void>> transaction::watch_all(std::vector<std::string> keys, time_point deadline) {
    command what{"WATCH"};
    for (const std::string& key : keys) what.add(key);
    detail::pooled_state& own = *own_.of_;
    own.is_in_transaction = true;
    value reply;
    result<void> done =
        co_await own.send_of_transaction({&what, 1}, {&reply, 1}, duration::zero(), deadline);
    if (done && reply.is_error()) {
        co_return std::unexpected{error::of_server(std::move(reply).take_text())};
    }
    co_return done;
}

task<result<void>> transaction::watch(std::string key, time_point deadline) {
    return watch_all(std::vector<std::string>{std::move(key)}, deadline);
}

task<result<value>> transaction::send(command what, time_point deadline) {
    return own_.send(std::move(what), deadline);
}

task<result<std::optional<std::string>>> transaction::get(std::string key, time_point deadline) {
    return own_.get(std::move(key), deadline);
}

task<result<std::vector<value>>> transaction::exec(std::vector<command> all, time_point deadline) {
    const bool has_place = std::ranges::none_of(all, [](const command& each) {
        return each.breaks_replies() || each.changes_connection();
    });
    if (!has_place) co_return std::unexpected{error{errc::not_shared}};
    all.insert(all.begin(), command{"MULTI"});
    all.push_back(command{"EXEC"});
    detail::pooled_state& own = *own_.of_;
    own.is_in_transaction = true;
    std::vector<value> replies(all.size());
    result<void> done = co_await own.send_of_transaction(all, replies, duration::zero(), deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    // EXEC ends what WATCH has begun, also where it fails; but for an EXEC without a MULTI.
    own.is_in_transaction = replies.front().is_error();
    value& last = replies.back();
    if (last.is_error()) co_return std::unexpected{error::of_server(std::move(last).take_text())};
    if (last.is_null()) co_return std::unexpected{error{errc::aborted}};
    if (last.type() != kind::array) {
        co_return std::unexpected{error{errc::wrong_type_of_reply, true}};
    }
    co_return std::move(last).take_items();
}

// --- the pool ------------------------------------------------------------------------------------

pool::pool(executor where, connector connect, client_options options, std::uint32_t size)
    : state_{std::make_shared<detail::pool_state>(where, std::move(connect), std::move(options),
                                                  size)} {}
pool::~pool() { close(); }

void pool::close() noexcept { state_->close(); }

task<result<pooled>> pool::acquire(time_point deadline) {
    const std::shared_ptr<detail::pool_state> state = state_;
    auto place = co_await state->lent().acquire(1, deadline);
    if (!place) {
        const bool is_closed = place.error() == wait_error::closed;
        co_return std::unexpected{is_closed ? error{errc::closed}
                                            : error{io::detail::code_of(place.error())}};
    }
    co_return pooled{std::make_unique<detail::pooled_state>(state, std::move(*place))};
}

task<result<transaction>> pool::begin(time_point deadline) {
    result<pooled> own = co_await acquire(deadline);
    if (!own) co_return std::unexpected{std::move(own.error())};
    co_return transaction{std::move(*own)};
}

std::size_t pool::connections() const { return state_->made(); }
std::size_t pool::waiting() const { return state_->lent().waiting(); }

}  // namespace fairlead::redis
