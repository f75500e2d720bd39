#include "savegames/codec.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace savegames {
namespace {

// The contexts that no call uses. One mutex, held for the change of two pointers.
template <class Context, Context* (*Make)(), std::size_t (*Free)(Context*)>
class context_pool {
    struct kept {
        explicit kept(Context* made) noexcept : context{made} {}
        kept(const kept&) = delete;
        kept& operator=(const kept&) = delete;
        ~kept() { Free(context); }

        Context* context;
        std::unique_ptr<kept> next{};
    };

public:
    // The use of one context, on one thread. The destructor returns the context to the pool.
    class loan {
    public:
        explicit loan(context_pool& pool) : pool_{pool}, kept_{pool.take()} {}
        loan(const loan&) = delete;
        loan& operator=(const loan&) = delete;
        ~loan() {
            if (kept_ != nullptr) pool_.give_back(std::move(kept_));
        }

        // Null: memory is short.
        [[nodiscard]] Context* get() const noexcept { return kept_ ? kept_->context : nullptr; }

    private:
        context_pool& pool_;
        std::unique_ptr<kept> kept_;
    };

private:
    std::unique_ptr<kept> take() {
        {
            const std::lock_guard lock{mutex_};
            if (free_ != nullptr) {
                std::unique_ptr<kept> first = std::move(free_);
                free_ = std::move(first->next);
                return first;
            }
        }
        Context* const made = Make();
        if (made == nullptr) return nullptr;
        std::unique_ptr<kept> result{new (std::nothrow) kept{made}};
        if (result == nullptr) Free(made);
        return result;
    }

    void give_back(std::unique_ptr<kept> used) {
        const std::lock_guard lock{mutex_};
        used->next = std::move(free_);
        free_ = std::move(used);
    }

    std::mutex mutex_;
    std::unique_ptr<kept> free_;
};

using compressors = context_pool<ZSTD_CCtx, ZSTD_createCCtx, ZSTD_freeCCtx>;
using decompressors = context_pool<ZSTD_DCtx, ZSTD_createDCtx, ZSTD_freeDCtx>;

compressors& all_compressors() {
    static compressors all;
    return all;
}

decompressors& all_decompressors() {
    static decompressors all;
    return all;
}

std::unexpected<failure> out_of_memory() {
    return std::unexpected(
        failure{error::store_failed, "the service has too little memory; try again later"});
}

std::unexpected<failure> corrupt(std::string message) {
    return std::unexpected(failure{error::corrupt, std::move(message)});
}

}  // namespace

std::uint64_t checksum(std::string_view text) noexcept {
    return XXH3_64bits(text.data(), text.size());
}

std::string checksum_text(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::expected<save, failure> pack(std::string_view text, int level) {
    const compressors::loan lent{all_compressors()};
    ZSTD_CCtx* const context = lent.get();
    if (context == nullptr) return out_of_memory();
    save result{.version = 0, .checksum = checksum(text), .size = text.size(), .data = {}};
    std::size_t written = 0;
    try {
        result.data.resize_and_overwrite(
            ZSTD_compressBound(text.size()), [&](char* data, std::size_t capacity) {
                written =
                    ZSTD_compressCCtx(context, data, capacity, text.data(), text.size(), level);
                return ZSTD_isError(written) ? 0 : written;
            });
        result.data.shrink_to_fit();
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
    if (ZSTD_isError(written)) {
        return std::unexpected(failure{error::store_failed, ZSTD_getErrorName(written)});
    }
    return result;
}

std::expected<std::string, failure> unpack(const save& stored, std::size_t size_max) {
    if (stored.size > size_max) {
        return std::unexpected(
            failure{error::too_large,
                    fmt::format("the save has {} bytes, the limit is {}", stored.size, size_max)});
    }
    // The capacity below is the recorded size, so a frame that claims more cannot write more.
    if (ZSTD_getFrameContentSize(stored.data.data(), stored.data.size()) != stored.size) {
        return corrupt("the compressed frame is broken, or not of the recorded size");
    }
    const decompressors::loan lent{all_decompressors()};
    ZSTD_DCtx* const context = lent.get();
    if (context == nullptr) return out_of_memory();
    std::string text;
    std::size_t written = 0;
    try {
        text.resize_and_overwrite(stored.size, [&](char* data, std::size_t) {
            written = ZSTD_decompressDCtx(context, data, stored.size, stored.data.data(),
                                          stored.data.size());
            return ZSTD_isError(written) ? 0 : written;
        });
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
    if (ZSTD_isError(written)) {
        if (ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation) return out_of_memory();
        return corrupt(ZSTD_getErrorName(written));
    }
    if (written != stored.size) return corrupt("the save is shorter than recorded");
    if (checksum(text) != stored.checksum) return corrupt("the checksum does not match");
    return text;
}

}  // namespace savegames
