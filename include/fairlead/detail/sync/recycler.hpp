// Memory for small objects that come and go by the million, and are often freed by another thread
// than the thread that made them: tasks, coroutine frames.
//
//     thread   class 64 bytes:  loaded [ . . . ]  spare [ . . . . ]
//              class 80 bytes:  ...                    |    ^
//                                          full batches v    |
//     depot    class 64 bytes:  [ . . . . ] [ . . . . ] ...          under a mutex
//                                                  v    |
//              slabs:           (# . # # . . # #) (. # . . # # . .)  #: in use, or above
//
// Question it answers: how does a worker free what a poster has allocated, a million times a
// second, when the general allocator takes a lock of the poster for each object?
//
// Each thread keeps at most two batches of each size and exchanges whole ones with the depot. The
// depot keeps at most `kept_max` bytes. Blocks beyond that go back to their slabs, and a slab
// without a block in use goes back to the general allocator, so memory follows what is in use. A
// batch holds the slabs of all its blocks, up to one slab for each block. So the depot keeps no
// batch while more than `kept_max` bytes lie free in slabs.
//
// Source: magazines over slabs (J. Bonwick, J. Adams, "Magazines and Vmem", USENIX 2001).
#pragma once

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace fairlead::sync {

class recycler {
public:
    static constexpr std::size_t granularity = 16;  // bytes between two size classes
    static constexpr std::size_t fine_max = 1016;   // above it classes are coarse_granularity apart
    static constexpr std::size_t coarse_granularity = 256;
    static constexpr std::size_t size_max = 4088;  // larger objects go to `operator new`
    static constexpr std::size_t kept_max = std::size_t{8} << 20;  // bytes in the depot

    class cache;

    recycler() = default;
    recycler(const recycler&) = delete;
    recycler& operator=(const recycler&) = delete;
    /// All caches must be gone, and all blocks must have been freed.
    ~recycler();

    /// Bytes in full batches in the depot. Any thread.
    [[nodiscard]] std::size_t kept() const noexcept { return kept_.load(relaxed); }

    /// Bytes that lie free in slabs with blocks in use or in batches. Any thread.
    [[nodiscard]] std::size_t loose() const noexcept { return loose_.load(relaxed); }

    /// Bytes in slabs, in use or not. Any thread.
    [[nodiscard]] std::size_t held() const noexcept { return held_.load(relaxed); }

private:
    static constexpr std::size_t fine_classes = (fine_max + 8) / granularity;
    static constexpr std::size_t classes =
        fine_classes + (size_max - fine_max) / coarse_granularity;

    // A block that is not in use. The first block of a batch also links to the next batch.
    struct free_block {
        free_block* next;
        free_block* next_batch;
    };

    // As many blocks as a batch has, each behind a pointer to its slab.
    struct slab {
        free_block* free;      // neither in use nor in a batch
        std::uint32_t in_use;  // blocks in use or in a batch
        slab* next;            // the next slab of the shelf with free blocks
        slab* previous;
        void* padding;
    };
    static_assert((sizeof(slab) + sizeof(slab*)) % granularity ==
                  0);  // where its first block begins

    // 24, 24, 40, 56, ... 1016, 1272, ... bytes: with the pointer before them multiples of 16.
    static constexpr std::size_t class_of(std::size_t size) noexcept {
        if (size > fine_max) return fine_classes + (size - fine_max - 1) / coarse_granularity;
        return (size + 7) / granularity;
    }
    static constexpr std::size_t block_size(std::size_t size_class) noexcept {
        if (size_class >= fine_classes) {
            return fine_max + (size_class - fine_classes + 1) * coarse_granularity;
        }
        return (size_class == 0 ? 1 : size_class) * granularity + 8;
    }
    // At most 64 KiB a batch, so that little lies in the threads; and never a few blocks only, so
    // that a thread that frees and allocates large blocks in turn takes a lock rarely.
    static constexpr std::size_t batch_size(std::size_t size_class) noexcept {
        const std::size_t fit = std::size_t{65536} / block_size(size_class);
        return fit > 64 ? 64 : fit;
    }

    static constexpr std::size_t stride(std::size_t size_class) noexcept {
        return sizeof(slab*) + block_size(size_class);
    }
    static constexpr std::size_t slab_size(std::size_t size_class) noexcept {
        return sizeof(slab) + batch_size(size_class) * stride(size_class);
    }
    static slab*& slab_of(free_block* block) noexcept {
        return reinterpret_cast<slab**>(block)[-1];
    }

    struct some_blocks {
        free_block* first;
        std::size_t count;
    };
    // A batch, or less. Throws `std::bad_alloc`.
    [[nodiscard]] some_blocks take_batch(std::size_t size_class);
    [[nodiscard]] some_blocks make_slab(std::size_t size_class);
    void give_batch(std::size_t size_class, free_block* batch) noexcept;
    void give_to_slabs(std::size_t size_class, free_block* blocks) noexcept;

    struct shelf {
        sync::mutex mutex;
        free_block* batches = nullptr;  // guarded by mutex, as `slabs`
        slab* slabs = nullptr;          // with some free blocks
    };
    static void link(shelf& on, slab& some) noexcept;
    static void unlink(shelf& from, slab& some) noexcept;

    std::array<shelf, classes> shelves_;
    alignas(base::cache_line) atomic<std::size_t> kept_{0};  // only numbers: relaxed throughout
    atomic<std::size_t> loose_{0};
    atomic<std::size_t> held_{0};
};

/// The blocks that one thread keeps. One thread at a time.
class alignas(base::cache_line) recycler::cache {
public:
    explicit cache(recycler& depot) noexcept;
    cache(const cache&) = delete;
    cache& operator=(const cache&) = delete;
    ~cache();

    /// Throws `std::bad_alloc`. The alignment is that of `operator new`.
    [[nodiscard]] void* allocate(std::size_t size) {
        if (void* const block = take(size)) return block;
        if (size > size_max) return ::operator new(size);
        refill(class_of(size));
        return take(size);
    }

    /// `size`: as it was allocated, by any cache of the same recycler.
    void free(void* memory, std::size_t size) noexcept {
        if (put(memory, size)) return;
        if (size > size_max) {
            ::operator delete(memory);  // clang 16 has no sized one by default
            return;
        }
        unload(class_of(size));
        static_cast<void>(put(memory, size));
    }

    // --- the parts of allocate and free that nearly every call takes -----------------------------

    /// Null: the caller goes on with `allocate`.
    [[nodiscard]] void* take(std::size_t size) noexcept {
        if (size > size_max) return nullptr;
        bin& from = bins_[class_of(size)];
        free_block* const block = from.loaded;
        if (block == nullptr) return nullptr;
        from.loaded = block->next;
        ++from.room;
        return block;
    }

    /// False: the caller goes on with `free`.
    [[nodiscard]] bool put(void* memory, std::size_t size) noexcept {
        if (size > size_max) return false;
        bin& to = bins_[class_of(size)];
        if (to.room == 0) return false;
        --to.room;
        auto* const block = static_cast<free_block*>(memory);
        block->next = to.loaded;
        to.loaded = block;
        return true;
    }

private:
    struct alignas(32) bin {  // a power of two, for the index
        free_block* loaded = nullptr;
        free_block* spare = nullptr;  // a full batch, or null
        std::uint32_t room = 0;       // in `loaded`, until it is a batch
    };

    void refill(std::size_t size_class);
    void unload(std::size_t size_class) noexcept;

    recycler& depot_;
    std::array<bin, classes> bins_;
};

// --- the recycler of the process -----------------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAIRLEAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAIRLEAD_SANITIZED 1
#endif
#endif

// The cache of the calling thread; null before its first use and after its end. Always null if the
// library was compiled with a sanitizer; a caller that was compiled with a sanitizer does not look.
// So programs that mix both work. Initial-exec: a load, not a call, in a shared object as well.
extern constinit thread_local recycler::cache* own_cache [[gnu::tls_model("initial-exec")]];

// Whether code that is inlined into a coroutine may look at the cache. Clang keeps the address of a
// thread-local variable in the frame, and uses it again after the coroutine has moved to another
// thread: two threads would share a cache. GCC computes the address anew in each step.
#if defined(FAIRLEAD_SANITIZED) || defined(__clang__)
inline constexpr bool looks_at_cache_inline = false;
#else
inline constexpr bool looks_at_cache_inline = true;
#endif

// The rare rest, apart, so that the fast paths save no register for it.
[[nodiscard]] [[gnu::noinline]] void* allocate_slowly(std::size_t size);
[[gnu::noinline]] void free_slowly(void* memory, std::size_t size) noexcept;

/// Allocates from the recycler of the process. Throws `std::bad_alloc`. Any thread. With the
/// address or the thread sanitizer it is `operator new`, so that the sanitizer sees each object.
[[nodiscard]] inline void* allocate_recycled(std::size_t size) {
    if constexpr (looks_at_cache_inline) {
        if (recycler::cache* const own = own_cache) {
            if (void* const block = own->take(size)) return block;
        }
    }
    return allocate_slowly(size);
}

/// Frees memory of `allocate_recycled(size)`, on any thread.
inline void free_recycled(void* memory, std::size_t size) noexcept {
    if constexpr (looks_at_cache_inline) {
        recycler::cache* const own = own_cache;
        if (own != nullptr && own->put(memory, size)) return;
    }
    free_slowly(memory, size);
}

/// A base for classes whose objects, if they are made with `new`, come from the recycler.
struct recycled {
    static void* operator new(std::size_t size) { return allocate_recycled(size); }
    static void operator delete(void* memory, std::size_t size) noexcept {
        free_recycled(memory, size);
    }
    static void* operator new(std::size_t size, std::align_val_t alignment) {
        return ::operator new(size, alignment);
    }
    static void operator delete(void* memory, std::align_val_t alignment) noexcept {
        ::operator delete(memory, alignment);
    }
};

/// An allocator for containers, with memory of the recycler.
template <class T>
struct recycling_allocator {
    using value_type = T;
    static_assert(alignof(T) <= alignof(std::max_align_t));

    recycling_allocator() noexcept = default;
    template <class Other>
    recycling_allocator(const recycling_allocator<Other>&) noexcept {}  // as containers want it

    [[nodiscard]] T* allocate(std::size_t count) {
        return static_cast<T*>(allocate_recycled(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        free_recycled(memory, count * sizeof(T));
    }

    friend bool operator==(recycling_allocator, recycling_allocator) noexcept { return true; }
};

}  // namespace fairlead::sync
