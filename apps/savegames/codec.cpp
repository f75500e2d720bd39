#include "savegames/codec.hpp"

#include <memory>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

namespace savegames {
namespace {

struct free_context {
    void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* compressor() {
    thread_local const std::unique_ptr<ZSTD_CCtx, free_context> context{ZSTD_createCCtx()};
    return context.get();
}

ZSTD_DCtx* decompressor() {
    thread_local const std::unique_ptr<ZSTD_DCtx, free_context> context{ZSTD_createDCtx()};
    return context.get();
}

std::unexpected<failure> out_of_memory() {
    return std::unexpected(failure{error::store_failed, "not enough memory for the codec"});
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
    ZSTD_CCtx* const context = compressor();
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
    // The capacity below is the recorded size: a frame that claims more cannot write more.
    if (ZSTD_getFrameContentSize(stored.data.data(), stored.data.size()) != stored.size) {
        return corrupt("the compressed frame is broken, or not of the recorded size");
    }
    ZSTD_DCtx* const context = decompressor();
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
    if (ZSTD_isError(written)) return corrupt(ZSTD_getErrorName(written));
    if (written != stored.size) return corrupt("the save is shorter than recorded");
    if (checksum(text) != stored.checksum) return corrupt("the checksum does not match");
    return text;
}

}  // namespace savegames
