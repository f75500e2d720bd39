// What a promise and its future share: one object, with the result in it.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/future/listener.hpp>
#include <fairlead/detail/future/live_count.hpp>
#include <fairlead/detail/future/pair_word.hpp>
#include <fairlead/detail/sync/recycler.hpp>
#include <fairlead/future/failure_traits.hpp>

#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace fairlead::futures {

/// What the promise wants to do if the future goes.
class unwanted_call : public sync::recycled {
public:
    unwanted_call() = default;
    unwanted_call(const unwanted_call&) = delete;
    unwanted_call& operator=(const unwanted_call&) = delete;
    virtual ~unwanted_call() = default;

    virtual void run() noexcept = 0;
};

/// The part that does not know the type of the result. Freed by the second side: see `pair_word`.
class pair_base : public sync::recycled {
public:
    pair_base(const pair_base&) = delete;
    pair_base& operator=(const pair_base&) = delete;

    // --- the promise ---------------------------------------------------------------------------

    /// The result was written. The last touch by this side.
    void settle() noexcept {
        switch (word_.settle()) {
            case pair_word::after_settle::tell:
                return listener_->tell();
            case pair_word::after_settle::destroy:
                delete this;
                return;
            case pair_word::after_settle::leave:
                return;
        }
    }

    /// Once. `call` is made if the future goes before the result is there.
    void listen(std::unique_ptr<unwanted_call> call) noexcept {
        FAIRLEAD_ASSERT(unwanted_ == nullptr, "on_unwanted was called twice");
        unwanted_ = std::move(call);
        if (word_.listen()) return;
        // The call may give the result, which frees the pair.
        const std::unique_ptr<unwanted_call> own = std::move(unwanted_);
        own->run();
    }

    [[nodiscard]] bool is_wanted() const noexcept { return word_.is_wanted(); }

    // --- the future ----------------------------------------------------------------------------

    [[nodiscard]] bool is_settled() const noexcept { return word_.is_settled(); }

    /// False: the result is there, and `by` is not told.
    [[nodiscard]] bool attach(listener& by) noexcept {
        listener_ = &by;
        return word_.attach();
    }

    /// The same for a listener that stays: it is told before the future does anything else.
    [[nodiscard]] bool attach_for_good(listener& by) noexcept {
        listener_ = &by;
        return word_.attach_for_good();
    }

    /// False: the listener was told, or is about to be.
    [[nodiscard]] bool withdraw() noexcept { return word_.withdraw(); }

    /// The result is there, and was taken: frees the pair.
    void end() noexcept { delete this; }

    /// There will be no taker, and there is no listener. The last touch by this side.
    void drop() noexcept {
        switch (word_.drop()) {
            case pair_word::after_drop::destroy:
                delete this;
                return;
            case pair_word::after_drop::call:
                unwanted_->run();
                if (word_.end_call()) delete this;
                return;
            case pair_word::after_drop::leave:
                return;
        }
    }

protected:
    pair_base() = default;
    virtual ~pair_base() = default;

private:
    pair_word word_;
    [[no_unique_address]] live_count counted_;
    listener* listener_ = nullptr;             // written before `attach`
    std::unique_ptr<unwanted_call> unwanted_;  // written before `listen`
};

/// Frees a pair whose result was taken, at the end of the block.
struct end_of_pair {
    explicit end_of_pair(pair_base& of) noexcept : of_{of} {}
    end_of_pair(const end_of_pair&) = delete;
    end_of_pair& operator=(const end_of_pair&) = delete;
    ~end_of_pair() { of_.end(); }

private:
    pair_base& of_;
};

template <class T, class E>
class pair : public pair_base {
    static_assert(!std::is_reference_v<T> && !std::is_reference_v<E> && !std::is_void_v<E>,
                  "the result of a future is a value or void, and its failure is a value");
    static_assert(alignof(std::optional<std::expected<T, E>>) <= alignof(std::max_align_t),
                  "let the result be a pointer to an object with this alignment");

public:
    using outcome = std::expected<T, E>;

    /// Writes the result, before `settle`. Throws what its construction throws, and then there is
    /// none.
    template <class... Args>
    void emplace(Args&&... args) {
        outcome_.emplace(std::forward<Args>(args)...);
    }

    void fail_with(wait_error why) noexcept {
        outcome_.emplace(std::unexpect, failure_traits<E>::from(why));
    }
    /// In a handler.
    void fail_with_current_exception() noexcept {
        outcome_.emplace(std::unexpect, failure_traits<E>::from(std::current_exception()));
    }

    /// For the future, once the result is there.
    [[nodiscard]] outcome& result() noexcept { return *outcome_; }

private:
    std::optional<outcome> outcome_;
};

}  // namespace fairlead::futures
