#include "savegames/job.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "savegames/codec.hpp"

namespace savegames {
namespace {

// Says why the store has not read or written a save.
std::string_view store_message(error code) {
    switch (code) {
        case error::not_found:
            return "this player has no save in this game; store one with PUT";
        case error::conflict:
        case error::lease_lost:
            return "another request changed the save meanwhile; read it and try again";
        case error::overloaded:
            return "the queue of the save store is full; try again later";
        case error::over_share:
            return "this game has filled its part of the save store's queue; try again later";
        case error::deadline:
            return "the time of the request was over before the save store began";
        default:
            return "the save store failed; try again later";
    }
}

constexpr std::string_view no_memory_message =
    "the memory for large saves is in use; try again when other requests have ended";

}  // namespace

// A store operation that is under way. The job and the store's callback share it, because either
// may end first.
//
// mutex_ guards what follows it. The store calls complete() once; the job calls abandon() at most
// once. The second of the two calls tidies up: it gives the lock back if the job is gone.
class job::operation {
public:
    using any_result =
        std::variant<std::monostate, std::expected<lock_result, error>, std::expected<save, error>,
                     std::expected<std::uint64_t, error>, std::expected<void, error>>;

    // `unlocks`: the operation must release the lock if the job is gone when the answer comes.
    operation(profile_store& profiles, const profile_key& key, owner_token owner, bool unlocks,
              std::function<void()> notify)
        : profiles_{profiles},
          key_{key},
          owner_{owner},
          unlocks_{unlocks},
          notify_{std::move(notify)} {}

    // The callback to give to the store.
    template <class T>
    static completion<T> callback(std::shared_ptr<operation> self) {
        return [self = std::move(self)](std::expected<T, error> result) {
            self->complete(any_result{std::move(result)});
        };
    }

    [[nodiscard]] bool done() const {
        const std::lock_guard lock{mutex_};
        return done_;
    }

    // Requires `done`.
    template <class T>
    [[nodiscard]] std::expected<T, error>& result() {
        return std::get<std::expected<T, error>>(result_);
    }

    // The job leaves: no notify begins after this call, and none is going on.
    void abandon() {
        {
            const std::lock_guard lock{mutex_};
            abandoned_ = true;
            if (!done_) return;  // complete() will tidy up
        }
        tidy_up();
    }

private:
    void complete(any_result result) {
        {
            const std::lock_guard lock{mutex_};
            result_ = std::move(result);
            done_ = true;
            if (!abandoned_) {
                if (notify_) notify_();
                return;
            }
        }
        tidy_up();
    }

    // Requires that the operation is done and abandoned: nothing changes result_ any more.
    void tidy_up() {
        if (!unlocks_) return;
        const auto* locked = std::get_if<std::expected<lock_result, error>>(&result_);
        const bool refused = locked != nullptr && *locked && !(*locked)->granted;
        if (!refused) profiles_.release(key_, owner_, [](std::expected<void, error>) {});
    }

    profile_store& profiles_;
    const profile_key key_;
    const owner_token owner_;
    const bool unlocks_;
    const std::function<void()> notify_;
    mutable std::mutex mutex_;
    bool done_ = false;
    bool abandoned_ = false;
    any_result result_;
};

response make_error(int status, std::string_view code, std::string_view message) {
    // The message may contain a client's text; bytes that are not UTF-8 are replaced. Strings are
    // joined by hand, because the destructor of a JSON object would allocate.
    const auto quote = [](std::string_view text) {
        return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    };
    return {status,
            "{\"error\":" + quote(code) + ",\"message\":" + quote(message) + "}",
            {{"Content-Type", "application/json"}},
            {}};
}

response make_error(error code, std::string_view message) {
    response result = make_error(http_status(code), to_string(code), message);
    if (result.status == 409 || result.status == 429 || result.status == 503) {
        result.headers.emplace_back("Retry-After", "1");
    }
    return result;
}

job::job(job_request request, const job_context& context, owner_token owner)
    : request_{std::move(request)},
      context_{context},
      owner_{owner},
      random_{std::to_underlying(owner)} {}

job::~job() { let_go(); }

void job::on_notify(std::function<void()> notify) { notify_ = std::move(notify); }

step_result job::step(time_point now) {
    if (finished()) return {step_result::kind::finished};
    if (now >= request_.deadline) {
        expire();
        return {step_result::kind::finished};
    }
    if (!due(now)) return wait();
    switch (phase_) {
        case phase::start:
            return begin();
        case phase::locking:
            return after_lock(now);
        case phase::backoff:
            return start_lock();
        case phase::downloading:
            return after_download();
        case phase::patching:
            return patch_text();
        case phase::packing:
            return pack_text();
        case phase::uploading:
            return after_upload();
        case phase::erasing:
            return after_erase();
        case phase::unlocking:
        case phase::finished:
            break;
    }
    operation_.reset();
    phase_ = phase::finished;
    return {step_result::kind::finished};
}

bool job::due(time_point now) const {
    if (now >= request_.deadline) return true;
    if (phase_ == phase::backoff) return now >= retry_at_;
    return operation_ == nullptr || operation_->done();
}

std::size_t job::next_bytes() const {
    switch (phase_) {
        case phase::start:
            return request_.body.size();
        case phase::downloading: {
            if (!operation_->done()) return 0;
            const auto& stored = operation_->result<save>();
            return stored ? stored->size : 0;
        }
        case phase::patching:
        case phase::packing:
            return text_.size() + request_.body.size();
        default:
            return 0;
    }
}

void job::expire() {
    if (finished()) return;
    if (committed()) {
        // The write is on the disk, and let_go() gives the lock back.
        if (phase_ == phase::uploading) {
            report_upload(*operation_->result<std::uint64_t>());
        } else {
            answer_ = {204, {}, {}};
        }
    } else if (phase_ != phase::unlocking) {
        const bool only_locked =
            lock_refused_ && (phase_ == phase::locking || phase_ == phase::backoff);
        answer_ =
            only_locked
                ? make_error(error::locked, "other requests kept the profile locked; try again")
                : make_error(error::deadline,
                             "the time of the request was over before its answer was there");
    }
    let_go();
}

// Ends without an answer: gives the lock back, and makes sure that no notify comes any more.
void job::let_go() noexcept {
    if (finished()) return;
    try {
        if (operation_) {
            operation_->abandon();  // also unlocks
        } else if (holds_lock_) {
            context_.profiles.release(*key_, owner_, [](std::expected<void, error>) {});
        }
    } catch (const std::bad_alloc&) {  // the lock stays until its lease ends
    }
    operation_.reset();
    holds_lock_ = false;
    phase_ = phase::finished;
}

// Whether the store has acknowledged the write that is under way.
bool job::committed() const {
    if (operation_ == nullptr || !operation_->done()) return false;
    if (phase_ == phase::uploading) return operation_->result<std::uint64_t>().has_value();
    return phase_ == phase::erasing && operation_->result<void>().has_value();
}

step_result job::begin() {
    auto game = game_id::parse(request_.game);
    if (!game) return fail(error::bad_request, "game: " + game.error());
    auto player = player_id::parse(request_.player);
    if (!player) return fail(error::bad_request, "player: " + player.error());
    key_.emplace(std::move(*game), std::move(*player));
    switch (request_.kind) {
        case job_kind::get:
            return start_download();
        case job_kind::erase:
            return start_lock();
        case job_kind::update: {
            if (auto good = check_json(request_.body, context_.patch_limits); !good) {
                return fail(good.error().code, good.error().message);
            }
            return start_lock();
        }
        case job_kind::put:
            break;
    }
    if (auto good = check_json(request_.body, context_.save_limits); !good) {
        return fail(good.error().code, good.error().message);
    }
    text_ = std::move(request_.body);
    phase_ = phase::packing;
    return {step_result::kind::ready};
}

step_result job::start_lock() {
    return start(phase::locking, [&](const std::shared_ptr<operation>& started) {
        context_.profiles.acquire(*key_, owner_, context_.lease,
                                  operation::callback<lock_result>(started));
    });
}

step_result job::after_lock(time_point now) {
    const auto result = operation_->result<lock_result>();
    operation_.reset();
    if (!result) {
        holds_lock_ = true;  // perhaps: the store may have locked before it failed
        return fail(result.error(), "the lock store failed; try again later");
    }
    if (!result->granted) {
        lock_refused_ = true;
        retry_at_ = now + next_backoff(result->left);
        phase_ = phase::backoff;
        return wait();
    }
    holds_lock_ = true;
    switch (request_.kind) {
        case job_kind::update:
            return start_download();
        case job_kind::erase:
            return start_erase();
        case job_kind::put:
        case job_kind::get:
            break;
    }
    return start_upload();
}

// The wait doubles from backoff_min to backoff_max. It is drawn at random between half of that and
// all of it, so that jobs that collided do not collide again. It is never longer than the rest of
// the other owner's lease.
std::chrono::milliseconds job::next_backoff(std::chrono::milliseconds lease_left) {
    const auto doubled = context_.backoff_min * (1 << std::min(lock_attempts_++, 16U));
    const auto longest = std::max<std::int64_t>(std::min(doubled, context_.backoff_max).count(), 1);
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
    const auto span = static_cast<std::uint64_t>(longest - longest / 2 + 1);
    const auto jittered = longest / 2 + static_cast<std::int64_t>((random_ >> 33) % span);
    return std::min(std::chrono::milliseconds{std::max<std::int64_t>(jittered, 1)},
                    std::max(lease_left, std::chrono::milliseconds{1}));
}

step_result job::start_download() {
    return start(phase::downloading, [&](const std::shared_ptr<operation>& started) {
        context_.blobs.get(*key_, request_.deadline, operation::callback<save>(started));
    });
}

step_result job::after_download() {
    auto result = std::move(operation_->result<save>());
    operation_.reset();
    if (!result) return fail(result.error(), store_message(result.error()));
    return request_.kind == job_kind::get ? answer_read(*result) : unpack_to_patch(*result);
}

step_result job::answer_read(const save& stored) {
    const bool large = stored.size >= shared_text_min && context_.texts != nullptr;
    shared_text shared = large ? context_.texts->find(*key_, stored) : nullptr;
    std::string own;
    if (shared == nullptr) {
        auto paid = large ? reserve(stored.size) : reservation{};
        if (!paid) return fail(paid.error(), no_memory_message);
        auto text = unpack(stored, context_.save_limits.size_max);
        if (!text) return fail(text.error().code, text.error().message);
        if (large) {
            shared = context_.texts->add(*key_, stored, std::move(*text), std::move(*paid));
        } else {
            own = std::move(*text);
        }
    }
    answer_ = {200,
               std::move(own),
               {{"Content-Type", "application/json"},
                {"Save-Version", std::to_string(stored.version)},
                {"Save-Checksum", checksum_text(stored.checksum)}},
               std::move(shared)};
    return finish();
}

step_result job::unpack_to_patch(const save& stored) {
    auto paid = reserve(2 * stored.size + request_.body.size());  // the texts before and after
    if (!paid) return fail(paid.error(), no_memory_message);
    paid_ = std::move(*paid);
    auto text = unpack(stored, context_.save_limits.size_max);
    if (!text) return fail(text.error().code, text.error().message);
    base_version_ = stored.version;
    text_ = std::move(*text);
    phase_ = phase::patching;
    return {step_result::kind::ready};
}

step_result job::patch_text() {
    auto patched = apply_merge_patch(text_, request_.body, context_.save_limits);
    if (!patched) return fail(patched.error().code, patched.error().message);
    text_ = std::move(*patched);
    phase_ = phase::packing;
    return {step_result::kind::ready};
}

step_result job::pack_text() {
    auto packed = pack(text_, context_.compression_level);
    if (!packed) return fail(packed.error().code, packed.error().message);
    packed_ = std::move(*packed);
    std::string{}.swap(text_);  // frees megabytes before the job waits
    paid_.reset();
    return holds_lock_ ? start_upload() : start_lock();
}

write_condition job::condition(std::optional<std::uint64_t> version) const {
    return {.expected_version = version, .owner = owner_, .deadline = request_.deadline};
}

step_result job::start_upload() {
    save value = std::move(packed_);
    packed_ = {.version = 0, .checksum = value.checksum, .size = value.size, .data = {}};
    return start(phase::uploading, [&](const std::shared_ptr<operation>& started) {
        context_.blobs.put(*key_, condition(base_version_), std::move(value),
                           operation::callback<std::uint64_t>(started));
    });
}

step_result job::after_upload() {
    const auto result = operation_->result<std::uint64_t>();
    operation_.reset();
    if (!result) return fail(result.error(), store_message(result.error()));
    report_upload(*result);
    return finish();
}

void job::report_upload(std::uint64_t version) {
    const std::string sum = checksum_text(packed_.checksum);
    answer_ = {
        200,
        fmt::format(R"({{"version":{},"checksum":"{}","size":{}}})", version, sum, packed_.size),
        {{"Content-Type", "application/json"},
         {"Save-Version", std::to_string(version)},
         {"Save-Checksum", sum}}};
}

step_result job::start_erase() {
    return start(phase::erasing, [&](const std::shared_ptr<operation>& started) {
        context_.blobs.erase(*key_, condition({}), operation::callback<void>(started));
    });
}

step_result job::after_erase() {
    const auto result = operation_->result<void>();
    operation_.reset();
    if (!result) return fail(result.error(), store_message(result.error()));
    answer_ = {204, {}, {}};
    return finish();
}

// Starts an operation of the store. If the call throws, no operation is under way; a lock that the
// job holds is given back at its end.
template <class Call>
step_result job::start(phase next, Call call) {
    const bool unlocks = next == phase::locking || (holds_lock_ && next != phase::unlocking);
    operation_ = std::make_shared<operation>(context_.profiles, *key_, owner_, unlocks, notify_);
    phase_ = next;
    try {
        call(operation_);
    } catch (...) {
        operation_.reset();
        throw;
    }
    return wait();
}

step_result job::wait() const {
    const time_point wake = phase_ == phase::backoff ? retry_at_ : time_point::max();
    return {step_result::kind::waiting, std::min(wake, request_.deadline)};
}

std::expected<reservation, error> job::reserve(std::size_t bytes) const {
    if (!request_.reserve) return reservation{};
    auto paid = request_.reserve(bytes);
    if (paid) return std::move(*paid);
    return std::unexpected(paid.error() == grant::over_share ? error::over_share
                                                             : error::overloaded);
}

step_result job::fail(error code, std::string_view message) {
    answer_ = make_error(code, message);
    return finish();
}

// Ends with answer_, which is complete. Gives the lock back first if the job holds it.
step_result job::finish() {
    if (holds_lock_) {
        return start(phase::unlocking, [&](const std::shared_ptr<operation>& started) {
            context_.profiles.release(*key_, owner_, operation::callback<void>(started));
            holds_lock_ = false;
        });
    }
    phase_ = phase::finished;
    return {step_result::kind::finished};
}

}  // namespace savegames
