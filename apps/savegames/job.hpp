// One request as a state machine. It knows no scheduler; a driver calls it.
//
//   get     download ─> unpack
//   put     check ─> pack ─> lock ─> upload ─> unlock
//   update  check ─> lock ─> download ─> unpack ─> patch ─> pack ─> upload ─> unlock
//   erase   lock ─> erase ─> unlock
//
// Each arrow is an operation of the store or a turn of the scheduler; each word between two arrows
// is one `step`. The driver calls `step` until the result is `finished`, and obeys each result:
//
//   ready     call `step` again at this job's next turn; other jobs may run first
//   waiting   call `step` when `notify` was called, or at `until`, whichever comes first
//   finished  `answer` is complete; the job may be destroyed at any time
//
// Threads: one thread at a time calls `step`, `expire`, `due` and the destructor. The store calls
// `notify`, from any thread, at any moment after a `step` began: also before that `step` returns,
// and also on the thread that is in `step`. So the driver's `notify` sets a flag and wakes the
// driver, and never calls `step`. The driver clears the flag before each `step`:
//
//   1. driver: step() starts a download      2. store: is done, calls notify: sets the flag
//   3. driver: step() returns waiting        4. driver: clears the flag, does not sleep, steps
//
// A superfluous `step` is harmless: it finds the operation under way and returns `waiting` again.
// A driver may call `step` because `due` says so, before it has seen the flag. That spares a sleep,
// and the flag then costs one superfluous step.
//
// Once `step` has returned `finished`, or `expire` or the destructor has returned, no call of
// `notify` is going on or will come. (The store calls `notify` under the mutex under which the job
// looks at the operation. So `notify` must be short, and must not call the job.)
//
// Time: the job reads no clock. After the deadline every `step` ends the job as `expire` does.
//
// Locks: however a job ends, its lock on the profile is given back, or a release is under way, or
// the lease expires. An operation that is under way when the job ends is detached: the store's
// callback owns what it needs, drops the answer, and then gives the lock back. The stores must
// outlive that callback.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "savegames/budget.hpp"
#include "savegames/model.hpp"
#include "savegames/patch.hpp"
#include "savegames/shared_texts.hpp"
#include "savegames/store.hpp"

namespace savegames {

enum class job_kind : std::uint8_t { get, put, update, erase };

// Reserves `bytes` of memory before the job makes a text of that size. Any thread. Null: the job
// needs no reservation.
using reserve_function = std::function<std::expected<reservation, grant>(std::size_t bytes)>;

struct job_request {
    job_kind kind = job_kind::get;
    std::string game{};  // as the client wrote it; the job checks it
    std::string player{};
    std::string body;  // of a put: the save; of an update: the merge patch
    time_point deadline = time_point::max();
    reserve_function reserve{};
};

// What all jobs of a server share. It outlives them and their detached operations.
struct job_context {
    profile_store& profiles;
    blob_store& blobs;
    json_limits save_limits{};
    json_limits patch_limits{.size_max = std::size_t{1} << 20};
    int compression_level = 3;
    std::chrono::milliseconds lease{10'000};     // must be longer than the longest request
    std::chrono::milliseconds backoff_min{2};    // the first wait for a lock, or half of it
    std::chrono::milliseconds backoff_max{100};  // each wait doubles, up to this
    shared_texts* texts = nullptr;               // null: each answer has its own copy of the save
};

struct response {
    int status = 0;
    std::string body;                                          // JSON, or empty with status 204
    std::vector<std::pair<std::string, std::string>> headers;  // Content-Type, Save-Version, ...
    shared_text shared{};                                      // a large save, in place of `body`

    [[nodiscard]] std::string_view content() const noexcept {
        return shared != nullptr ? std::string_view{*shared} : std::string_view{body};
    }
};

// A save of at least this many bytes is answered from `shared`.
inline constexpr std::size_t shared_text_min = std::size_t{16} << 10;

// The answer with `status` and the body {"error":code,"message":message}.
[[nodiscard]] response make_error(int status, std::string_view code, std::string_view message);

// The same with the status of `code`. Adds Retry-After: 1 to 409, 429 and 503.
[[nodiscard]] response make_error(error code, std::string_view message);

struct step_result {
    enum class kind : std::uint8_t { ready, waiting, finished };
    kind what = kind::ready;
    time_point until = time_point::max();  // of `waiting`: never later than the deadline
};

class job {
public:
    // `owner` identifies the job to the lock, and seeds the random part of its waits.
    job(job_request request, const job_context& context, owner_token owner = new_owner_token());

    // Ends an unfinished job as `expire` does, but without an answer. Never blocks.
    ~job();
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    // Sets `notify`. Call it before the first step, or not at all if the driver asks `due`.
    void on_notify(std::function<void()> notify);

    // Runs the next part and starts the next operation of the store. `now` is a time of `clock`,
    // not before that of an earlier step. Throws only what allocation throws.
    [[nodiscard]] step_result step(time_point now);

    // Whether `step(now)` would make progress, for drivers that poll. Not during `step`.
    [[nodiscard]] bool due(time_point now) const;

    // How many bytes of text the next step works on, about. For drivers that treat long steps
    // apart. Not during `step`.
    [[nodiscard]] std::size_t next_bytes() const;

    // Ends the job now. The answer: of a committed write, its success; 409 if the job has only
    // waited for the lock; else 504. Never blocks.
    void expire();

    [[nodiscard]] bool finished() const noexcept { return phase_ == phase::finished; }

    // Requires `finished`.
    [[nodiscard]] const response& answer() const noexcept { return answer_; }
    [[nodiscard]] response& answer() noexcept { return answer_; }

    [[nodiscard]] const job_request& request() const noexcept { return request_; }

private:
    class operation;

    enum class phase : std::uint8_t {
        start,        // nothing is done yet
        locking,      // acquire is under way
        backoff,      // the lock was refused; the job waits until retry_at_
        downloading,  // get is under way
        patching,     // text_ is the old save, not yet patched
        packing,      // text_ is the new save, not yet packed
        uploading,    // put is under way
        erasing,      // erase is under way
        unlocking,    // release is under way; answer_ is complete
        finished,
    };

    step_result begin();
    step_result after_lock(time_point now);
    step_result after_download();
    step_result answer_read(const save& stored);
    step_result unpack_to_patch(const save& stored);
    step_result patch_text();
    step_result pack_text();
    step_result after_upload();
    step_result after_erase();

    [[nodiscard]] write_condition condition(std::optional<std::uint64_t> version) const;
    step_result start_lock();
    step_result start_download();
    step_result start_upload();
    step_result start_erase();

    template <class Call>
    step_result start(phase next, Call call);
    void let_go() noexcept;
    step_result wait() const;
    std::expected<reservation, error> reserve(std::size_t bytes) const;
    step_result fail(error code, std::string_view message);
    step_result finish();
    void report_upload(std::uint64_t version);
    [[nodiscard]] bool committed() const;
    std::chrono::milliseconds next_backoff(std::chrono::milliseconds lease_left);

    job_request request_;
    const job_context& context_;
    const owner_token owner_;
    std::function<void()> notify_;
    phase phase_ = phase::start;
    bool holds_lock_ = false;
    bool lock_refused_ = false;  // at least once
    std::uint64_t random_;       // the state of the generator for waits
    std::uint32_t lock_attempts_ = 0;
    time_point retry_at_{};
    std::optional<profile_key> key_;             // set once the ids are checked
    std::optional<std::uint64_t> base_version_;  // of an update: the version that was downloaded
    reservation paid_;                           // the memory of text_
    std::string text_;                           // the new save, or the one to patch
    save packed_;
    std::shared_ptr<operation> operation_;  // null: none is under way
    response answer_;
};

}  // namespace savegames
