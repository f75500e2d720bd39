#include "savegames/sqlite_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "savegames/bounded_queue.hpp"
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
    std::optional<save> value;  // empty: erase
    completion<std::uint64_t> done;
    std::expected<std::uint64_t, error> result = std::unexpected(error::store_failed);
};

enum class commit_outcome : std::uint8_t {
    committed,
    failed,     // in a write or in the commit: perhaps the fault of one write
    not_begun,  // the file is locked or gone: no use to try each write
};

// A file descriptor that closes itself; closing gives its lock back.
class descriptor {
public:
    explicit descriptor(int fd = -1) noexcept : fd_{fd} {}
    descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

std::string system_message() { return std::error_code{errno, std::system_category()}.message(); }

// Creates `path` if it is not there, for our user alone: saves are nobody else's business. SQLite
// gives the files beside it the same rights. Must be closed before SQLite opens the file: closing
// it later would drop SQLite's locks.
std::expected<void, std::string> create_private(const std::string& path) {
    const descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (file.get() >= 0) return {};
    return std::unexpected(fmt::format("cannot open the database {}: {}", path, system_message()));
}

// Makes this store the only one of the file. The kernel gives the lock back when we die.
std::expected<descriptor, std::string> lock_file(const std::string& path) {
    descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (file.get() < 0) {
        return std::unexpected(fmt::format("cannot open {}: {}", path, system_message()));
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno == EWOULDBLOCK) {
        return std::unexpected(fmt::format("the database is in use by another server ({})", path));
    }
    return std::unexpected(fmt::format("cannot lock {}: {}", path, system_message()));
}

// Makes the names of new files durable.
std::expected<void, std::string> flush_folder(const std::string& path) {
    std::filesystem::path folder = std::filesystem::path{path}.parent_path();
    if (folder.empty()) folder = ".";
    const descriptor opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (opened.get() >= 0 && ::fsync(opened.get()) == 0) return {};
    return std::unexpected(fmt::format("cannot flush {}: {}", folder.string(), system_message()));
}

// One reader thread's connection.
struct reader {
    sqlite_connection connection;
    sqlite_statement select;
};

// The writer thread's connection.
struct writer {
    sqlite_connection connection;
    sqlite_statement begin, commit, select, upsert;
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
    writer result{std::move(*connection), {}, {}, {}, {}};
    const std::pair<sqlite_statement*, std::string_view> statements[] = {
        {&result.begin, "BEGIN IMMEDIATE"},
        {&result.commit, "COMMIT"},
        {&result.select, "SELECT version, data IS NULL FROM saves WHERE game = ? AND player = ?"},
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

// Without memory the queue is full.
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
    state(const sqlite_options& options, descriptor lock)
        : options_{options},
          lock_{std::move(lock)},
          reads_{{options.queue_max, SIZE_MAX}, options.readers},
          writes_{{options.queue_max, options.queue_bytes_max}} {}

    ~state() { stop(); }

    std::expected<void, std::string> start();
    void stop();

    void submit(read_op op);
    void submit(write_op op, std::size_t bytes);
    sqlite_counters counters() const;

    lease_table leases;

private:
    void serve_reads(reader& with);
    void serve_writes(writer& with);
    std::expected<save, error> read(reader& with, const profile_key& key);
    commit_outcome write_together(writer& with, std::span<write_op> group);
    bool apply(writer& with, write_op& op);
    std::expected<std::uint64_t, error> check(const write_op& op, std::uint64_t version,
                                              bool stored) const;
    void note_failure(const sqlite_connection& connection);
    error refuse(grant answer);

    const sqlite_options options_;
    descriptor lock_;
    bounded_queue<read_op> reads_;
    bounded_queue<write_op> writes_;
    std::vector<std::jthread> threads_;
    std::mutex stop_mutex_;

    mutable std::mutex counters_mutex_;
    sqlite_counters counters_;
};

std::expected<void, std::string> sqlite_store::state::start() {
    auto write_side = open_writer(options_);
    if (!write_side) return std::unexpected(std::move(write_side.error()));
    if (auto flushed = flush_folder(options_.path); !flushed) return flushed;
    std::vector<reader> read_sides;
    for (std::size_t i = 0; i < options_.readers; ++i) {
        auto read_side = open_reader(options_);
        if (!read_side) return std::unexpected(std::move(read_side.error()));
        read_sides.push_back(std::move(*read_side));
    }
    try {
        threads_.emplace_back(
            [this, side = std::move(*write_side)]() mutable { serve_writes(side); });
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
    threads_.clear();  // joins
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

void sqlite_store::state::note_failure(const sqlite_connection& connection) {
    const std::lock_guard lock{counters_mutex_};
    try {
        counters_.last_failure = connection.message();
    } catch (const std::bad_alloc&) {
        counters_.last_failure.clear();
    }
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
            note_failure(with.connection);
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
        group.clear();  // here, so that what was written is not kept while there is nothing to do
        writes_.take(group, options_.group_max, options_.group_bytes_max);
        if (group.empty()) return;
        commit_outcome outcome = write_together(with, group);
        std::size_t commits = outcome == commit_outcome::committed ? 1 : 0;
        if (outcome == commit_outcome::failed && group.size() > 1) {
            for (write_op& op : group) {
                outcome = write_together(with, {&op, 1});
                commits += outcome == commit_outcome::committed ? 1 : 0;
                if (outcome == commit_outcome::not_begun) break;
            }
        }
        {
            const std::lock_guard lock{counters_mutex_};
            counters_.writes += group.size();
            counters_.commits += commits;
            for (const write_op& op : group) {
                counters_.failures += !op.result && op.result.error() == error::store_failed;
            }
        }
        for (write_op& op : group) op.done(op.result);
    }
}

// One transaction for the group. Unless it is committed, nothing is stored and every result is
// store_failed.
commit_outcome sqlite_store::state::write_together(writer& with, std::span<write_op> group) {
    const bool begun = run(with.begin);
    bool good = begun;
    for (auto op = group.begin(); good && op != group.end(); ++op) good = apply(with, *op);
    good = good && run(with.commit);
    if (good) return commit_outcome::committed;
    note_failure(with.connection);
    with.connection.roll_back();
    for (write_op& op : group) op.result = std::unexpected(error::store_failed);
    return begun ? commit_outcome::failed : commit_outcome::not_begun;
}

// Sets the result of `op`. False when SQLite failed; a refusal (conflict ...) is a good result.
bool sqlite_store::state::apply(writer& with, write_op& op) {
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

// The version that the write gets, or why it must not happen.
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
    if (options.path.empty()) return std::unexpected("the store needs the path of a file");
    if (options.readers == 0 || options.queue_max == 0 || options.group_max == 0) {
        return std::unexpected("readers, queue_max and group_max must be at least 1");
    }
    auto lock = lock_file(options.path + ".lock");
    if (!lock) return std::unexpected(std::move(lock.error()));
    if (auto created = create_private(options.path); !created) {
        return std::unexpected(std::move(created.error()));
    }
    auto opened = std::make_unique<state>(options, std::move(*lock));
    if (auto started = opened->start(); !started)
        return std::unexpected(std::move(started.error()));
    return std::unique_ptr<sqlite_store>{new sqlite_store{std::move(opened)}};
}

sqlite_store::sqlite_store(std::unique_ptr<state> opened) : state_{std::move(opened)} {}

// Callbacks of the last operations may still call us: stop before anything is taken apart.
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
    state_->submit(write_op{key, condition, std::move(value), std::move(done)}, bytes);
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
    state_->submit(write_op{key, condition, std::nullopt, std::move(forget_version)}, 0);
}

void sqlite_store::stop() { state_->stop(); }

sqlite_counters sqlite_store::counters() const { return state_->counters(); }

}  // namespace savegames
