#include <fairlead/detail/os/thread_key.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::sync {

// --- the depot -----------------------------------------------------------------------------------

recycler::~recycler() {
    for (std::size_t size_class = 0; size_class != classes; ++size_class) {
        shelf& each = shelves_[size_class];
        while (free_block* const batch = each.batches) {
            each.batches = batch->next_batch;
            give_to_slabs(size_class, batch);
        }
    }
}

// In this order: a batch, which was probably used last; free blocks of slabs; a new slab.
recycler::some_blocks recycler::take_batch(std::size_t size_class) {
    const std::size_t whole = batch_size(size_class);
    {
        shelf& from = shelves_[size_class];
        std::lock_guard lock{from.mutex};
        if (from.batches != nullptr) {
            kept_.fetch_sub(whole * block_size(size_class), relaxed);  // only a number
            return {std::exchange(from.batches, from.batches->next_batch), whole};
        }
        some_blocks found{nullptr, 0};
        while (found.count != whole && from.slabs != nullptr) {
            slab& some = *from.slabs;
            free_block* const block = std::exchange(some.free, some.free->next);
            ++some.in_use;
            if (some.free == nullptr) unlink(from, some);
            block->next = std::exchange(found.first, block);
            ++found.count;
        }
        if (found.count != 0) {
            loose_.fetch_sub(found.count * block_size(size_class), relaxed);  // only a number
            return found;
        }
    }
    return make_slab(size_class);
}

// All its blocks are in use at once: they are the batch. Without the lock: the system may be slow.
recycler::some_blocks recycler::make_slab(std::size_t size_class) {
    const std::size_t count = batch_size(size_class);
    auto* const memory = static_cast<std::byte*>(::operator new(slab_size(size_class)));
    held_.fetch_add(slab_size(size_class), relaxed);  // only a number
    auto* const made = new (memory) slab{};
    made->in_use = static_cast<std::uint32_t>(count);
    free_block* first = nullptr;
    for (std::size_t i = count; i != 0; --i) {  // so that the first block is on top
        std::byte* const at = memory + sizeof(slab) + (i - 1) * stride(size_class);
        new (at) slab* {made};
        first = new (at + sizeof(slab*)) free_block{first, nullptr};
    }
    return {first, count};
}

void recycler::give_batch(std::size_t size_class, free_block* batch) noexcept {
    const std::size_t bytes = batch_size(size_class) * block_size(size_class);
    // Only numbers.
    const bool has_room = kept_.fetch_add(bytes, relaxed) + bytes <= kept_max;
    const bool slabs_are_full = loose_.load(relaxed) <= kept_max;
    shelf& to = shelves_[size_class];
    if (has_room && slabs_are_full) {
        std::lock_guard lock{to.mutex};
        batch->next_batch = std::exchange(to.batches, batch);
        return;
    }
    kept_.fetch_sub(bytes, relaxed);
    give_to_slabs(size_class, batch);
    if (slabs_are_full) return;
    // A batch holds each slab that has a block in the batch.
    free_block* another = nullptr;
    {
        std::lock_guard lock{to.mutex};
        another = to.batches;
        if (another == nullptr) return;
        to.batches = another->next_batch;
    }
    kept_.fetch_sub(bytes, relaxed);
    give_to_slabs(size_class, another);
}

void recycler::give_to_slabs(std::size_t size_class, free_block* blocks) noexcept {
    shelf& to = shelves_[size_class];
    slab* unused = nullptr;
    std::size_t count = 0;
    {
        std::lock_guard lock{to.mutex};
        for (; blocks != nullptr; ++count) {
            free_block* const block = std::exchange(blocks, blocks->next);
            slab& home = *slab_of(block);
            if (home.free == nullptr) link(to, home);
            block->next = std::exchange(home.free, block);
            if (--home.in_use != 0) continue;
            unlink(to, home);
            home.next = std::exchange(unused, &home);
        }
    }
    loose_.fetch_add(count * block_size(size_class), relaxed);  // only a number
    while (unused != nullptr) {
        held_.fetch_sub(slab_size(size_class), relaxed);  // only a number
        loose_.fetch_sub(batch_size(size_class) * block_size(size_class), relaxed);
        ::operator delete(std::exchange(unused, unused->next));
    }
}

void recycler::link(shelf& on, slab& some) noexcept {
    some.previous = nullptr;
    some.next = std::exchange(on.slabs, &some);
    if (some.next != nullptr) some.next->previous = &some;
}

void recycler::unlink(shelf& from, slab& some) noexcept {
    (some.previous != nullptr ? some.previous->next : from.slabs) = some.next;
    if (some.next != nullptr) some.next->previous = some.previous;
}

// --- a thread's ----------------------------------------------------------------------------------

recycler::cache::cache(recycler& depot) noexcept : depot_{depot} {
    for (std::size_t size_class = 0; size_class != classes; ++size_class) {
        bins_[size_class].room = static_cast<std::uint32_t>(batch_size(size_class));
    }
}

recycler::cache::~cache() {
    for (std::size_t size_class = 0; size_class != classes; ++size_class) {
        bin& own = bins_[size_class];
        if (own.loaded != nullptr) depot_.give_to_slabs(size_class, own.loaded);
        if (own.spare != nullptr) depot_.give_batch(size_class, own.spare);
    }
}

void recycler::cache::refill(std::size_t size_class) {
    bin& to = bins_[size_class];
    if (to.spare != nullptr) {
        to.loaded = std::exchange(to.spare, nullptr);
        to.room = 0;
        return;
    }
    const auto [first, count] = depot_.take_batch(size_class);
    to.loaded = first;
    to.room = static_cast<std::uint32_t>(batch_size(size_class) - count);
}

// Two batches, so that a thread that frees and allocates at the edge of a batch takes no lock.
void recycler::cache::unload(std::size_t size_class) noexcept {
    bin& from = bins_[size_class];
    if (from.spare != nullptr) depot_.give_batch(size_class, from.spare);
    from.spare = std::exchange(from.loaded, nullptr);
    from.room = static_cast<std::uint32_t>(batch_size(size_class));
}

// --- the process ---------------------------------------------------------------------------------

constinit thread_local recycler::cache* own_cache = nullptr;

#if !defined(FAIRLEAD_SANITIZED)
namespace {

thread_local bool ended = false;  // its cache is gone; later destructors work without it

// The library is being unloaded, or the process ends: no thread tells its end any more. Relaxed: a
// thread that misses it leaves its cache behind, as all threads do then.
constinit atomic<bool> ends_are_untold{false};

// Never destroyed: objects of static storage may be freed after everything.
recycler& depot() {
    static recycler& the_depot = *new recycler;
    return the_depot;
}

void end_of_thread(void* cache) noexcept {
    own_cache = nullptr;
    ended = true;
    delete static_cast<recycler::cache*>(cache);
}

// Tells the end of each thread that has a cache. Not the destructor of a thread-local object: glibc
// ends the program where there is no memory to register such a destructor.
class ends_of_threads {
public:
    ends_of_threads() noexcept : key_{end_of_thread} {}
    ends_of_threads(const ends_of_threads&) = delete;
    ends_of_threads& operator=(const ends_of_threads&) = delete;
    ~ends_of_threads() { ends_are_untold.store(true, relaxed); }

    // False: there is no memory for it.
    [[nodiscard]] bool will_free(recycler::cache& own) noexcept { return key_.set(&own); }

private:
    os::thread_key key_;
};

// The cache of a thread that has none yet, or null.
[[gnu::noinline]] recycler::cache* first_use() {
    if (ended || ends_are_untold.load(relaxed)) return nullptr;
    static ends_of_threads all_ends;
    auto* const made = new (std::nothrow) recycler::cache{depot()};
    if (made != nullptr && all_ends.will_free(*made)) {
        own_cache = made;
    } else {
        delete made;
    }
    return own_cache;
}

}  // namespace

void* allocate_slowly(std::size_t size) {
    recycler::cache* const own = own_cache != nullptr ? own_cache : first_use();
    if (own != nullptr) return own->allocate(size);
    return recycler::cache{depot()}.allocate(size);
}

void free_slowly(void* memory, std::size_t size) noexcept {
    recycler::cache* const own = own_cache != nullptr ? own_cache : first_use();
    if (own != nullptr) {
        own->free(memory, size);
    } else {
        recycler::cache{depot()}.free(memory, size);
    }
}
#else
void* allocate_slowly(std::size_t size) { return ::operator new(size); }
void free_slowly(void* memory, std::size_t) noexcept { ::operator delete(memory); }
#endif

}  // namespace fairlead::sync
