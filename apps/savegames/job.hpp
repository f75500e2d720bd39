// One request as a state machine that knows no scheduler.
//
//   get     download ─> unpack
//   put     check ─> pack ─> lock ─> upload ─> unlock
//   update  check ─> lock ─> download ─> unpack ─> patch ─> pack ─> upload ─> unlock
//   erase   lock ─> erase ─> unlock
//
// Each arrow is a store operation or a turn of the scheduler; each word between two arrows is one
// `step`. The driver calls `step` until it says `finished`, and does what each result asks for:
//
//   ready     call `step` again when it is this job's turn; others may run first
//   waiting   call `step` when `notify` was called, or at `until`, whichever is first
//   finished  `answer` is complete; destroy the job when you like
//
// Threads: `step`, `expire`, `due` and the destructor are called by one thread at a time. `notify`
// is called by the store, from any thread, at any moment after a `step` began, also before that
// `step` returns, and also by the thread that is in `step`. So a driver makes notify "set a flag
// and wake", never "call step", and consumes the flag before each `step`:
//
//   1. driver: step() starts a download      2. store: done, calls notify -> flag = 1
//   3. driver: step() returns waiting        4. driver: takes the flag, need not sleep, steps again
//
// A `step` too many is harmless: it finds the operation under way and answers `waiting` again. One
// that is asked for by `due`, before the flag was seen, spares a sleep; the flag then costs a step.
// When `step` has answered `finished`, or `expire` or the destructor has returned, notify will not
// be called any more, and no call of it is going on. (The store calls it under the lock under which
// the job looks. So notify must not call into the job, and must be short.)
//
// Time: the job reads no clock. After the deadline every `step` ends the job as `expire` does.
// Locks: whatever way a job ends, its lock is given back, or was asked to be, or its lease expires.
// An operation that is under way when the job ends is detached: the store's callback owns what it
// needs, drops the answer, and gives the lock back after it. The stores outlive that.
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

// Pays for so many bytes of text before the job makes them. Any thread. Null: not needed.
using reserve_function = std::function<std::expected<reservation, grant>(std::size_t bytes)>;

struct job_request {
    job_kind kind = job_kind::get;
    std::string game{};  // as the client wrote them: the job checks
    std::string player{};
    std::string body;  // put: the save; update: the merge patch
    time_point deadline = time_point::max();
    reserve_function reserve{};
};

// What all jobs of a server share. Outlives them and their detached operations.
struct job_context {
    profile_store& profiles;
    blob_store& blobs;
    json_limits save_limits{};
    json_limits patch_limits{.size_max = std::size_t{1} << 20};
    int compression_level = 3;
    std::chrono::milliseconds lease{10'000};     // more than the longest request
    std::chrono::milliseconds backoff_min{2};    // first wait for a lock, halved at random
    std::chrono::milliseconds backoff_max{100};  // later waits double up to this
    shared_texts* texts = nullptr;               // null: each answer has a copy of its own
};

struct response {
    int status = 0;
    std::string body;                                          // JSON, or empty with status 204
    std::vector<std::pair<std::string, std::string>> headers;  // Content-Type, Save-Version, ...
    shared_text shared{};                                      // instead of `body`: a large save

    [[nodiscard]] std::string_view content() const noexcept {
        return shared != nullptr ? std::string_view{*shared} : std::string_view{body};
    }
};

// Saves of at least so many bytes are answered from `shared`.
inline constexpr std::size_t shared_text_min = std::size_t{16} << 10;

// An answer with `status` and the body {"error":code,"message":message}.
[[nodiscard]] response make_error(int status, std::string_view code, std::string_view message);

// The same with the status of `code`; Retry-After: 1 with 409, 429 and 503.
[[nodiscard]] response make_error(error code, std::string_view message);

struct step_result {
    enum class kind : std::uint8_t { ready, waiting, finished };
    kind what = kind::ready;
    time_point until = time_point::max();  // of waiting; never later than the deadline
};

class job {
public:
    // `owner` names the job to the lock, and seeds its backoff.
    job(job_request request, const job_context& context, owner_token owner = new_owner_token());

    // Ends the job as `expire` does when it has not finished, but without an answer. Never blocks.
    ~job();
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    // Before the first step. Default: nothing is called, for drivers that ask `due`.
    void on_notify(std::function<void()> notify);

    // Runs the next part and starts the next store operation. `now`: of `clock`, not before that of
    // an earlier step. Throws nothing but what allocation throws.
    [[nodiscard]] step_result step(time_point now);

    // Whether `step(now)` would make progress. For drivers that poll. Any moment but during `step`.
    [[nodiscard]] bool due(time_point now) const;

    // About how many bytes of text the next step works on. For drivers that divide long work. Any
    // moment but during `step`.
    [[nodiscard]] std::size_t next_bytes() const;

    // Ends the job now: 409 when it has only waited for the lock, 504 else; but a write that was
    // committed is reported as such. Never blocks.
    void expire();

    [[nodiscard]] bool finished() const noexcept { return phase_ == phase::finished; }

    // Once finished.
    [[nodiscard]] const response& answer() const noexcept { return answer_; }
    [[nodiscard]] response& answer() noexcept { return answer_; }

    [[nodiscard]] const job_request& request() const noexcept { return request_; }

private:
    class operation;

    enum class phase : std::uint8_t {
        start,        // nothing done yet
        locking,      // acquire is under way
        backoff,      // the lock was refused; until retry_at_
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
    std::uint64_t random_;       // of the backoff
    std::uint32_t lock_attempts_ = 0;
    time_point retry_at_{};
    std::optional<profile_key> key_;             // once the ids are known to be good
    std::optional<std::uint64_t> base_version_;  // update: what was downloaded
    reservation paid_;                           // for text_
    std::string text_;                           // the new save, or the one to patch
    save packed_;
    std::shared_ptr<operation> operation_;  // the one under way
    response answer_;
};

}  // namespace savegames
