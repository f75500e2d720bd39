#include "model/checker/races.hpp"

#include "model/checker/explorer.hpp"
#include "model/checker/heap.hpp"
#include "model/checker/replaced_new.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace fairlead::model::races {
namespace {

constexpr std::size_t granule_size = 8;
constexpr unsigned all_bytes = 0xff;

enum class kind : std::uint8_t { read, write, freed };

// An access of some bytes of a granule: one number, as it is made and compared with each access.
class cell {
public:
    cell(std::uint32_t execution, std::uint16_t epoch, std::size_t thread, kind what,
         unsigned bytes)
        : bits_{std::uint64_t{execution} << 32 | std::uint64_t{epoch} << 16 | thread << 12 |
                std::uint64_t{static_cast<std::uint8_t>(what)} << 8 | bytes} {}

    /// The same access of these `bytes` alone.
    [[nodiscard]] cell of(unsigned bytes) const {
        cell part = *this;
        part.bits_ = (bits_ & ~std::uint64_t{all_bytes}) | bytes;
        return part;
    }

    // Cells of other executions are empty.
    [[nodiscard]] std::uint32_t execution() const {
        return static_cast<std::uint32_t>(bits_ >> 32);
    }
    [[nodiscard]] std::uint16_t epoch() const { return static_cast<std::uint16_t>(bits_ >> 16); }
    [[nodiscard]] std::size_t thread() const { return bits_ >> 12 & 0xf; }
    [[nodiscard]] kind what() const { return static_cast<kind>(bits_ >> 8 & 0xf); }
    [[nodiscard]] unsigned bytes() const { return bits_ & 0xff; }  // a bit for each

    bool operator==(const cell&) const = default;

private:
    std::uint64_t bits_;
};
// Those in use come first.
using granule = std::array<cell, 8>;

static_assert(sizeof(granule) == 64 && threads_max <= 16);

std::uint32_t execution = 0;
std::size_t raced = SIZE_MAX;  // where the failing access was, for the trace of its replay

constexpr std::uintptr_t shadow_begin = heap::region + (std::uintptr_t{1} << 40);
granule* const shadow = static_cast<granule*>(
    reserve(shadow_begin, heap::region_size / granule_size * sizeof(granule)));

bool overlaps(const cell& a, const cell& b) { return (a.bytes() & b.bytes()) != 0; }
bool covers(const cell& a, const cell& b) { return (b.bytes() & ~a.bytes()) == 0; }

[[noreturn, gnu::noinline]] void fail(const cell& older, std::size_t index) {
    raced = index;
    if (older.what() == kind::freed) explorer::running()->fail("a touch of freed memory");
    explorer::running()->fail(std::string{"a data race with a "} +
                              (older.what() == kind::write ? "write" : "read") + " by thread " +
                              std::to_string(older.thread()));
}

// Checks a new access against the recorded ones. It replaces a recorded access that it makes
// redundant.
[[gnu::noinline]] void add_to_others(std::size_t index, const cell added) {
    granule& here = shadow[index];
    const vector_clock& known = explorer::running()->known().current.clock;
    cell* place = nullptr;
    bool is_needless = false;
    for (cell& older : here) {
        if (older == added) return;
        if (older.execution() != added.execution()) {
            if (place == nullptr) place = &older;
            break;
        }
        if (!overlaps(older, added)) continue;
        const bool is_own = older.thread() == added.thread();
        const bool before = is_own || known[older.thread()] >= older.epoch();
        const bool conflicts = older.what() != kind::read || added.what() != kind::read;
        if (older.what() == kind::freed || (conflicts && !before)) fail(older, index);
        if (added.what() == kind::write ? before : is_own && older.what() == kind::read) {
            if (covers(added, older)) place = &older;
        } else if (is_own && older.epoch() == added.epoch() && covers(older, added)) {
            is_needless = true;
        }
    }
    if (is_needless) return;
    if (place == nullptr) place = &here[added.epoch() % here.size()];
    *place = added;
}

// The same. Mostly the granule has no access yet, or this one is the same as the first.
inline void add(std::size_t index, const cell added) {
    cell& first = shadow[index][0];
    if (first == added) return;
    if (first.execution() == added.execution()) return add_to_others(index, added);
    first = added;
}

void note_access(const void* at, std::size_t size, bool writes, const void* from) {
    Dl_info object{};
    std::uintptr_t offset = 0;
    if (from != nullptr && dladdr(from, &object) != 0) {
        offset = reinterpret_cast<std::uintptr_t>(from) -
                 reinterpret_cast<std::uintptr_t>(object.dli_fbase);
    }
    char line[128];
    std::snprintf(line, sizeof line, "%s %zu bytes at %p, code at +0x%zx",
                  writes ? "writes" : "reads", size, at, static_cast<std::size_t>(offset));
    explorer::running()->note(line);
}

// Most accesses are of one granule, and need none of this.
[[gnu::noinline]] void access_each(const void* at, std::size_t begin, std::size_t size,
                                   const cell all, const void* from) {
    const std::size_t end = begin + size;
    for (std::size_t index = begin / granule_size; index * granule_size < end; ++index) {
        const std::size_t granule_begin = index * granule_size;
        unsigned bytes = all_bytes;
        if (granule_begin < begin) bytes &= all_bytes << (begin - granule_begin);
        if (end < granule_begin + granule_size)
            bytes &= all_bytes >> (granule_begin + granule_size - end);
        if (explorer::running()->tracing() && index == raced)
            note_access(at, size, all.what() == kind::write, from);
        add(index, all.of(bytes));
    }
}

}  // namespace

void begin_execution() { ++execution; }

void access(const void* at, std::size_t size, bool writes, const void* from) {
    const std::size_t begin = heap::offset(at);
    if (begin >= heap::region_size || !explorer::in_scenario()) return;
    explorer& model = *explorer::running();
    const cell all{execution, model.known().current.clock[model.here()], model.here(),
                   writes ? kind::write : kind::read, all_bytes};
    const std::size_t index = begin / granule_size;
    const std::size_t in_granule = begin % granule_size;
    if (size == 0 || size > granule_size - in_granule || model.tracing()) {
        access_each(at, begin, size, all, from);
    } else {
        add(index, all.of(((1U << size) - 1) << in_granule));
    }
}

void free(const void* at, std::size_t size) {
    access(at, size, true);
    const std::size_t first = heap::offset(at);
    for (std::size_t i = first / granule_size; i * granule_size < first + size; ++i) {
        shadow[i][0] = {execution, 0, 0, kind::freed, all_bytes};
    }
}

}  // namespace fairlead::model::races

// --- what the compiler calls ---------------------------------------------------------------------

namespace {

using fairlead::model::races::access;

constexpr bool reads = false;
constexpr bool writes = true;

}  // namespace

#define FAIRLEAD_MODEL_ACCESS(size)                                                              \
    void __tsan_read##size(void* at) { access(at, size, reads, __builtin_return_address(0)); }   \
    void __tsan_write##size(void* at) { access(at, size, writes, __builtin_return_address(0)); } \
    void __tsan_unaligned_read##size(void* at) {                                                 \
        access(at, size, reads, __builtin_return_address(0));                                    \
    }                                                                                            \
    void __tsan_unaligned_write##size(void* at) {                                                \
        access(at, size, writes, __builtin_return_address(0));                                   \
    }                                                                                            \
    void __tsan_read_write##size(void* at) {                                                     \
        access(at, size, writes, __builtin_return_address(0));                                   \
    }

extern "C" {

FAIRLEAD_MODEL_ACCESS(1)
FAIRLEAD_MODEL_ACCESS(2)
FAIRLEAD_MODEL_ACCESS(4)
FAIRLEAD_MODEL_ACCESS(8)
FAIRLEAD_MODEL_ACCESS(16)

void __tsan_read_range(void* at, std::size_t size) {
    access(at, size, reads, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t size) {
    access(at, size, writes, __builtin_return_address(0));
}
void __tsan_vptr_read(void** at) { access(at, sizeof *at, reads, __builtin_return_address(0)); }
// A destructor stores the same value again, which no thread can observe.
void __tsan_vptr_update(void** at, void* value) {
    access(at, sizeof *at, *at != value, __builtin_return_address(0));
}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
    access(from, size, reads, __builtin_return_address(0));
    access(to, size, writes, __builtin_return_address(0));
    return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
    access(from, size, reads, __builtin_return_address(0));
    access(to, size, writes, __builtin_return_address(0));
    return std::memmove(to, from, size);
}
void* __tsan_memset(void* at, int value, std::size_t size) {
    access(at, size, writes, __builtin_return_address(0));
    return std::memset(at, value, size);
}

}  // extern "C"
