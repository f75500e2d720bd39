#include "savegames/sqlite_store.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "savegames/bounded_queue.hpp"
#include "savegames/database_files.hpp"
#include "savegames/lease_table.hpp"
#include "savegames/sqlite_sides.hpp"

namespace savegames {
namespace {

struct read_op {
    profile_key key;
    time_point deadline;
    completion<save> done;
};

struct write_op {
    profile_key key;
    write_condition condition;
    std::optional<save> value;  // empty: an erase
    bool is_probe = false;      // only tests whether a write succeeds; changes no save
    completion<std::uint64_t> done;
    std::expected<std::uint64_t, error> result = std::unexpected(error::store_failed);
};

enum class commit_outcome : std::uint8_t {
    committed,
    failed,    // in a write or in the commit; perhaps one write is the cause
    hopeless,  // the file is locked, gone or another file: trying each write alone is no use
};

// The writer moves the log into the database once the log has this many pages: 32 MB.
constexpr std::uint64_t checkpoint_pages = 4096;

// If memory is short, the queue counts as full.
template <class Op>
grant push_to(bounded_queue<Op>& queue, Op& op, std::size_t bytes) {
    try {
        return queue.push(op.key.game.text(), op, bytes);
    } catch (const std::bad_alloc&) {
        return grant::exhausted;
    }
}

bool run(sqlite_statement& statement) {
    const bool done = statement.step() == sqlite_statement::outcome::done;
    statement.reset();
    return done;
}

}  // namespace

class sqlite_store::state {
public:
    state(const sqlite_options& options, std::unique_ptr<database_files> files)
        : options_{options},
          files_{std::move(files)},
          reads_{{options.queue_max, SIZE_MAX}},
          writes_{{options.queue_max, options.queue_bytes_max}} {}

    ~state() { stop(); }

    std::expected<void, std::string> start();
    void stop();

    void submit(read_op op);
    void submit(write_op op, std::size_t bytes);
    store_counters counters() const;
    std::expected<void, std::string> ready();

    lease_table leases;

private:
    void serve_reads(sqlite_reader& with);
    void serve_writes(sqlite_writer& with);
    void write_all(sqlite_writer& with, std::span<write_op> group);
    void tell_outcome(std::span<write_op> group, std::size_t commits, commit_outcome outcome);
    std::expected<save, error> read(sqlite_reader& with, const read_op& op);
    commit_outcome write_together(sqlite_writer& with, std::span<write_op> group);
    bool apply(sqlite_writer& with, write_op& op);
    std::expected<std::uint64_t, error> check(const write_op& op, std::uint64_t version,
                                              bool stored) const;
    std::span<write_op> begin_in_time(std::vector<write_op>& group);
    std::chrono::milliseconds patience(time_point deadline) const;
    void note_failure(std::string_view words);
    error refuse(grant answer);

    const sqlite_options options_;
    const std::unique_ptr<database_files> files_;  // outlives every connection
    bounded_queue<read_op> reads_;
    bounded_queue<write_op> writes_;
    std::optional<sqlite_writer> writer_;
    std::vector<std::jthread> threads_;
    std::mutex stop_mutex_;

    mutable std::mutex counters_mutex_;  // guards the following members
    store_counters counters_;
    bool writes_fail_ = false;  // the latest write failed
    bool probing_ = false;      // a probe is in the queue
};

std::expected<void, std::string> sqlite_store::state::start() {
    auto write_side = open_writer(options_.path, options_.busy_timeout);
    if (!write_side) return std::unexpected(std::move(write_side.error()));
    writer_ = std::move(*write_side);
    if (auto log = files_->open_log(writer_->log_end()); !log) {
        return std::unexpected(fmt::format("cannot use {}: {}", options_.path, log.error()));
    }
    if (auto flushed = files_->flush_names(); !flushed) return flushed;
    std::vector<sqlite_reader> read_sides;
    for (std::size_t i = 0; i < options_.readers; ++i) {
        auto read_side = open_reader(options_.path, options_.busy_timeout);
        if (!read_side) return std::unexpected(std::move(read_side.error()));
        read_sides.push_back(std::move(*read_side));
    }
    try {
        threads_.emplace_back([this] { serve_writes(*writer_); });
        for (sqlite_reader& read_side : read_sides) {
            threads_.emplace_back(
                [this, side = std::move(read_side)]() mutable { serve_reads(side); });
        }
    } catch (const std::system_error& caught) {
        return std::unexpected(fmt::format("cannot start a store thread: {}", caught.what()));
    }
    return {};
}

void sqlite_store::state::stop() {
    const std::lock_guard lock{stop_mutex_};
    reads_.close();
    writes_.close();
    threads_.clear();  // joins them; the connections of the readers are closed then
    // The last connection moves the log into the database when it is closed. Out of a log with a
    // gap it would move wrong pages.
    if (writer_ && files_->is_cut()) writer_->connection.keep_log();
    writer_.reset();
}

void sqlite_store::state::submit(read_op op) {
    const grant answer = push_to(reads_, op, 0);
    if (answer != grant::granted) op.done(std::unexpected(refuse(answer)));
}

void sqlite_store::state::submit(write_op op, std::size_t bytes) {
    const grant answer = push_to(writes_, op, bytes);
    if (answer != grant::granted) op.done(std::unexpected(refuse(answer)));
}

error sqlite_store::state::refuse(grant answer) {
    const std::lock_guard lock{counters_mutex_};
    ++counters_.refused;
    if (reads_.closed()) return error::store_failed;
    return answer == grant::over_share ? error::over_share : error::overloaded;
}

store_counters sqlite_store::state::counters() const {
    const std::lock_guard lock{counters_mutex_};
    store_counters result = counters_;
    result.queued_reads = reads_.size();
    result.queued_writes = writes_.size();
    return result;
}

void sqlite_store::state::note_failure(std::string_view words) {
    const std::lock_guard lock{counters_mutex_};
    try {
        counters_.last_failure = words;
    } catch (const std::bad_alloc&) {
        counters_.last_failure.clear();
    }
}

std::expected<void, std::string> sqlite_store::state::ready() {
    if (auto intact = files_->check(); !intact) {
        return std::unexpected(std::string{intact.error()});
    }
    {
        const std::lock_guard lock{counters_mutex_};
        if (!writes_fail_) return {};
    }
    const profile_key no_player{game_id::parse("probe").value(), player_id::parse("probe").value()};
    write_op probe{.key = no_player,
                   .condition = {},
                   .value = {},
                   .is_probe = true,
                   .done = [this](const auto&) {
                       const std::lock_guard lock{counters_mutex_};
                       probing_ = false;
                   }};
    {
        const std::lock_guard lock{counters_mutex_};
        if (std::exchange(probing_, true)) return std::unexpected("writes fail");
    }
    submit(std::move(probe), 0);
    return std::unexpected("writes fail");
}

void sqlite_store::state::serve_reads(sqlite_reader& with) {
    std::vector<read_op> taken;
    taken.reserve(1);
    for (;;) {
        taken.clear();
        reads_.take(taken, 1, SIZE_MAX);
        if (taken.empty()) return;
        auto result = read(with, taken.front());
        {
            const std::lock_guard lock{counters_mutex_};
            const auto failed = result ? std::nullopt : std::optional{result.error()};
            counters_.failures += failed == error::store_failed;
            ++(failed == error::deadline ? counters_.overdue : counters_.reads);
        }
        taken.front().done(std::move(result));
    }
}

std::expected<save, error> sqlite_store::state::read(sqlite_reader& with, const read_op& op) try {
    if (clock::now() >= op.deadline) return std::unexpected(error::deadline);
    with.connection.set_busy_timeout(patience(op.deadline));
    with.select.bind(1, op.key.game.text());
    with.select.bind(2, op.key.player.text());
    std::expected<save, error> result = std::unexpected(error::not_found);
    switch (with.select.step()) {
        case sqlite_statement::outcome::row:
            if (with.select.is_null(3)) break;
            result = save{.version = static_cast<std::uint64_t>(with.select.integer(0)),
                          .checksum = static_cast<std::uint64_t>(with.select.integer(1)),
                          .size = static_cast<std::uint64_t>(with.select.integer(2)),
                          .data = std::string{with.select.bytes(3)}};
            break;
        case sqlite_statement::outcome::done:
            break;
        case sqlite_statement::outcome::failed:
            note_failure(with.connection.message());
            result = std::unexpected(error::store_failed);
            break;
    }
    with.select.reset();
    return result;
} catch (const std::bad_alloc&) {
    with.select.reset();
    return std::unexpected(error::store_failed);
}

void sqlite_store::state::serve_writes(sqlite_writer& with) {
    std::vector<write_op> group;
    group.reserve(options_.group_max);
    for (;;) {
        group.clear();  // before the wait, so that an idle store does not keep what it has written
        writes_.take(group, options_.group_max, options_.group_bytes_max);
        if (group.empty()) return;
        if (const auto begun = begin_in_time(group); !begun.empty()) write_all(with, begun);
        for (write_op& op : group) op.done(op.result);
        if (with.connection.log_pages() < checkpoint_pages || !files_->check()) continue;
        with.connection.checkpoint();
        files_->note_size();
    }
}

// The writes whose deadline has not passed. Overdue writes have their answer.
std::span<write_op> sqlite_store::state::begin_in_time(std::vector<write_op>& group) {
    const auto is_in_time = [now = clock::now()](const write_op& op) {
        return now < op.condition.deadline;
    };
    const auto late = std::ranges::stable_partition(group, is_in_time);
    for (write_op& op : late) op.result = std::unexpected(error::deadline);
    if (!late.empty()) {
        const std::lock_guard lock{counters_mutex_};
        counters_.overdue += late.size();
    }
    return {group.begin(), late.begin()};
}

void sqlite_store::state::write_all(sqlite_writer& with, std::span<write_op> group) {
    commit_outcome outcome = write_together(with, group);
    std::size_t commits = outcome == commit_outcome::committed ? 1 : 0;
    if (outcome == commit_outcome::failed && group.size() > 1) {
        for (write_op& op : group) {
            outcome = write_together(with, {&op, 1});
            commits += outcome == commit_outcome::committed ? 1 : 0;
            if (outcome == commit_outcome::hopeless) break;
        }
    }
    tell_outcome(group, commits, outcome);
}

// How long a statement may wait for a lock.
std::chrono::milliseconds sqlite_store::state::patience(time_point deadline) const {
    const auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - clock::now());
    return std::clamp(left, std::chrono::milliseconds{0}, options_.busy_timeout);
}

void sqlite_store::state::tell_outcome(std::span<write_op> group, std::size_t commits,
                                       commit_outcome outcome) {
    const std::lock_guard lock{counters_mutex_};
    counters_.writes += group.size();
    counters_.commits += commits;
    for (const write_op& op : group) {
        counters_.failures += !op.result && op.result.error() == error::store_failed;
    }
    writes_fail_ = outcome != commit_outcome::committed;
}

// Runs one transaction for the group. Unless it is committed, nothing is stored, and every result
// is store_failed. A transaction also counts as failed if a restart would not open the files it was
// committed to.
commit_outcome sqlite_store::state::write_together(sqlite_writer& with, std::span<write_op> group) {
    const auto fail = [&](commit_outcome outcome, std::string_view words) {
        note_failure(words);
        for (write_op& op : group) op.result = std::unexpected(error::store_failed);
        return outcome;
    };
    if (auto intact = files_->begin_write(); !intact) {
        return fail(commit_outcome::hopeless, intact.error());
    }
    time_point latest = time_point::min();
    for (const write_op& op : group) latest = std::max(latest, op.condition.deadline);
    with.connection.set_busy_timeout(patience(latest));
    const bool begun = run(with.begin);
    bool good = begun;
    for (auto op = group.begin(); good && op != group.end(); ++op) good = apply(with, *op);
    good = good && run(with.commit);
    if (!good) {
        const commit_outcome outcome = fail(
            begun ? commit_outcome::failed : commit_outcome::hopeless, with.connection.message());
        with.connection.roll_back();
        files_->abandon_write();
        return outcome;
    }
    if (auto intact = files_->end_write(with.log_end()); !intact) {
        return fail(commit_outcome::hopeless, intact.error());
    }
    return commit_outcome::committed;
}

// Sets the result of `op`. False if SQLite failed; a refusal (conflict ...) is a result.
bool sqlite_store::state::apply(sqlite_writer& with, write_op& op) {
    if (op.is_probe) {
        op.result = 0;
        return run(with.probe);
    }
    with.select.bind(1, op.key.game.text());
    with.select.bind(2, op.key.player.text());
    const auto found = with.select.step();
    std::uint64_t version = 0;
    bool stored = false;
    if (found == sqlite_statement::outcome::row) {
        version = static_cast<std::uint64_t>(with.select.integer(0));
        stored = with.select.integer(1) == 0;
    }
    with.select.reset();
    if (found == sqlite_statement::outcome::failed) return false;
    op.result = check(op, version, stored);
    if (!op.result) return true;
    with.upsert.bind(1, op.key.game.text());
    with.upsert.bind(2, op.key.player.text());
    with.upsert.bind(3, static_cast<std::int64_t>(*op.result));
    with.upsert.bind(4, op.value ? static_cast<std::int64_t>(op.value->checksum) : 0);
    with.upsert.bind(5, op.value ? static_cast<std::int64_t>(op.value->size) : 0);
    if (op.value) {
        with.upsert.bind_blob(6, op.value->data);
    } else {
        with.upsert.bind_null(6);
    }
    return run(with.upsert);
}

// The version that the write gets, or why the write is refused.
std::expected<std::uint64_t, error> sqlite_store::state::check(const write_op& op,
                                                               std::uint64_t version,
                                                               bool stored) const {
    const write_condition& condition = op.condition;
    if (condition.owner && !leases.holds(op.key, *condition.owner, clock::now())) {
        return std::unexpected(error::lease_lost);
    }
    if (!op.value && !stored) return std::unexpected(error::not_found);
    if (condition.expected_version && *condition.expected_version != (stored ? version : 0)) {
        return std::unexpected(error::conflict);
    }
    return version + 1;
}

std::expected<std::unique_ptr<sqlite_store>, std::string> sqlite_store::open(
    sqlite_options options) {
    if (options.path.empty()) return std::unexpected("the path of the database is empty; give one");
    if (options.readers == 0 || options.queue_max == 0 || options.group_max == 0) {
        return std::unexpected(
            fmt::format("readers ({}), queue_max ({}) and group_max ({}) must "
                        "each be at least 1",
                        options.readers, options.queue_max, options.group_max));
    }
    auto files = database_files::claim(options.path);
    if (!files) return std::unexpected(std::move(files.error()));
    auto opened = std::make_unique<state>(options, std::move(*files));
    if (auto started = opened->start(); !started)
        return std::unexpected(std::move(started.error()));
    return std::unique_ptr<sqlite_store>{new sqlite_store{std::move(opened)}};
}

sqlite_store::sqlite_store(std::unique_ptr<state> opened) : state_{std::move(opened)} {}

// A callback of the last operations may still use this store, so it stops first.
sqlite_store::~sqlite_store() { state_->stop(); }

void sqlite_store::acquire(const profile_key& key, owner_token owner,
                           std::chrono::milliseconds lease, completion<lock_result> done) {
    done(state_->leases.acquire(key, owner, lease, clock::now()));
}

void sqlite_store::release(const profile_key& key, owner_token owner, completion<void> done) {
    if (state_->leases.release(key, owner, clock::now())) {
        done({});
    } else {
        done(std::unexpected(error::lease_lost));
    }
}

void sqlite_store::get(const profile_key& key, time_point deadline, completion<save> done) {
    state_->submit(read_op{key, deadline, std::move(done)});
}

void sqlite_store::put(const profile_key& key, const write_condition& condition, save value,
                       completion<std::uint64_t> done) {
    const std::size_t bytes = value.data.size();
    state_->submit(
        write_op{
            .key = key, .condition = condition, .value = std::move(value), .done = std::move(done)},
        bytes);
}

void sqlite_store::erase(const profile_key& key, const write_condition& condition,
                         completion<void> done) {
    auto forget_version =
        [done = std::move(done)](std::expected<std::uint64_t, error> version) mutable {
            if (version) {
                done({});
            } else {
                done(std::unexpected(version.error()));
            }
        };
    state_->submit(
        write_op{
            .key = key, .condition = condition, .value = {}, .done = std::move(forget_version)},
        0);
}

void sqlite_store::stop() { state_->stop(); }

store_counters sqlite_store::counters() const { return state_->counters(); }

std::expected<void, std::string> sqlite_store::ready() const { return state_->ready(); }

}  // namespace savegames
