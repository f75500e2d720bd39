#include "savegames/sqlite_store.hpp"

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
#include "savegames/sqlite_connection.hpp"
#include "savegames/sqlite_schema.hpp"

namespace savegames {
namespace {

struct read_op {
    profile_key key;
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

// The connection of one reader thread.
struct reader {
    sqlite_connection connection;
    sqlite_statement select;
};

// The connection of the writer thread.
struct writer {
    sqlite_connection connection;
    sqlite_statement begin, commit, select, upsert, probe;
    std::uint64_t page_size = 0;

    // How many bytes of the log are in use. By the format of the log: a header, and a header before
    // each page. A new log is empty.
    [[nodiscard]] std::uint64_t log_end() const {
        const std::uint64_t pages = connection.log_pages();
        return pages == 0 ? 0 : 32 + pages * (24 + page_size);
    }
};

std::expected<reader, std::string> open_reader(const sqlite_options& options) {
    auto connection = sqlite_connection::open(options.path, options.busy_timeout);
    if (!connection) return std::unexpected(std::move(connection.error()));
    auto select = connection->prepare(
        "SELECT version, checksum, size, data FROM saves WHERE game = ? AND player = ?");
    if (!select) return std::unexpected(std::move(select.error()));
    return reader{std::move(*connection), std::move(*select)};
}

std::expected<writer, std::string> open_writer(const sqlite_options& options) {
    auto connection = sqlite_connection::open(options.path, options.busy_timeout);
    if (!connection) return std::unexpected(std::move(connection.error()));
    if (auto schema = prepare_schema(*connection); !schema) {
        return std::unexpected(
            fmt::format("cannot use the database {}: {}", options.path, schema.error()));
    }
    connection->checkpoint_by_hand();
    connection->checkpoint();  // sets log_pages
    auto page_size = connection->query_text("PRAGMA page_size");
    if (!page_size) return std::unexpected(std::move(page_size.error()));
    writer result{std::move(*connection), {}, {}, {}, {}, {}, std::stoull(*page_size)};
    const std::pair<sqlite_statement*, std::string_view> statements[] = {
        {&result.begin, "BEGIN IMMEDIATE"},
        {&result.commit, "COMMIT"},
        {&result.select, "SELECT version, data IS NULL FROM saves WHERE game = ? AND player = ?"},
        {&result.probe, "PRAGMA user_version = 1"},  // writes a page even if the value is 1 already
        {&result.upsert,
         "INSERT INTO saves (game, player, version, checksum, size, data) "
         "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (game, player) DO UPDATE SET "
         "version = excluded.version, checksum = excluded.checksum, "
         "size = excluded.size, data = excluded.data"}};
    for (const auto& [statement, sql] : statements) {
        auto made = result.connection.prepare(sql);
        if (!made) return std::unexpected(std::move(made.error()));
        *statement = std::move(*made);
    }
    return result;
}

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
          reads_{{options.queue_max, SIZE_MAX}, options.readers},
          writes_{{options.queue_max, options.queue_bytes_max}} {}

    ~state() { stop(); }

    std::expected<void, std::string> start();
    void stop();

    void submit(read_op op);
    void submit(write_op op, std::size_t bytes);
    sqlite_counters counters() const;
    std::expected<void, std::string> ready();

    lease_table leases;

private:
    void serve_reads(reader& with);
    void serve_writes(writer& with);
    void tell_outcome(std::span<write_op> group, std::size_t commits, commit_outcome outcome);
    std::expected<save, error> read(reader& with, const profile_key& key);
    commit_outcome write_together(writer& with, std::span<write_op> group);
    bool apply(writer& with, write_op& op);
    std::expected<std::uint64_t, error> check(const write_op& op, std::uint64_t version,
                                              bool stored) const;
    void note_failure(std::string_view words);
    error refuse(grant answer);

    const sqlite_options options_;
    const std::unique_ptr<database_files> files_;  // outlives every connection
    bounded_queue<read_op> reads_;
    bounded_queue<write_op> writes_;
    std::optional<writer> writer_;
    std::vector<std::jthread> threads_;
    std::mutex stop_mutex_;

    mutable std::mutex counters_mutex_;  // guards the following members
    sqlite_counters counters_;
    bool writes_fail_ = false;  // the latest write failed
    bool probing_ = false;      // a probe is in the queue
};

std::expected<void, std::string> sqlite_store::state::start() {
    auto write_side = open_writer(options_);
    if (!write_side) return std::unexpected(std::move(write_side.error()));
    writer_ = std::move(*write_side);
    if (auto log = files_->open_log(writer_->log_end()); !log) {
        return std::unexpected(fmt::format("cannot use {}: {}", options_.path, log.error()));
    }
    if (auto flushed = files_->flush_names(); !flushed) return flushed;
    std::vector<reader> read_sides;
    for (std::size_t i = 0; i < options_.readers; ++i) {
        auto read_side = open_reader(options_);
        if (!read_side) return std::unexpected(std::move(read_side.error()));
        read_sides.push_back(std::move(*read_side));
    }
    try {
        threads_.emplace_back([this] { serve_writes(*writer_); });
        for (reader& read_side : read_sides) {
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

sqlite_counters sqlite_store::state::counters() const {
    const std::lock_guard lock{counters_mutex_};
    sqlite_counters result = counters_;
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

void sqlite_store::state::serve_reads(reader& with) {
    std::vector<read_op> taken;
    taken.reserve(1);
    for (;;) {
        taken.clear();
        reads_.take(taken, 1, SIZE_MAX);
        if (taken.empty()) return;
        auto result = read(with, taken.front().key);
        {
            const std::lock_guard lock{counters_mutex_};
            ++counters_.reads;
            if (!result && result.error() == error::store_failed) ++counters_.failures;
        }
        taken.front().done(std::move(result));
    }
}

std::expected<save, error> sqlite_store::state::read(reader& with, const profile_key& key) try {
    with.select.bind(1, key.game.text());
    with.select.bind(2, key.player.text());
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

void sqlite_store::state::serve_writes(writer& with) {
    std::vector<write_op> group;
    group.reserve(options_.group_max);
    for (;;) {
        group.clear();  // before the wait, so that an idle store does not keep what it has written
        writes_.take(group, options_.group_max, options_.group_bytes_max);
        if (group.empty()) return;
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
        for (write_op& op : group) op.done(op.result);
        if (with.connection.log_pages() < checkpoint_pages || !files_->check()) continue;
        with.connection.checkpoint();
        files_->note_size();
    }
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
commit_outcome sqlite_store::state::write_together(writer& with, std::span<write_op> group) {
    const auto fail = [&](commit_outcome outcome, std::string_view words) {
        note_failure(words);
        for (write_op& op : group) op.result = std::unexpected(error::store_failed);
        return outcome;
    };
    if (auto intact = files_->begin_write(); !intact) {
        return fail(commit_outcome::hopeless, intact.error());
    }
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
bool sqlite_store::state::apply(writer& with, write_op& op) {
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

void sqlite_store::get(const profile_key& key, completion<save> done) {
    state_->submit(read_op{key, std::move(done)});
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

sqlite_counters sqlite_store::counters() const { return state_->counters(); }

std::expected<void, std::string> sqlite_store::ready() const { return state_->ready(); }

}  // namespace savegames
