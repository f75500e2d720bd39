#include <fairlead/sync/recycler.hpp>

#include <mutex>
#include <utility>

namespace fairlead::sync {

// --- the depot --------------------------------------------------------------------------------------

recycler::~recycler() {
    for (std::size_t size_class = 0; size_class != classes; ++size_class) {
        while (free_block* const batch = take_batch(size_class)) free_batch(batch);
    }
}

recycler::free_block* recycler::take_batch(std::size_t size_class) noexcept {
    shelf& from = shelves_[size_class];
    std::lock_guard lock{from.mutex};
    if (from.batches == nullptr) return nullptr;
    kept_.fetch_sub(batch_size(size_class) * block_size(size_class), relaxed);  // only a number
    return std::exchange(from.batches, from.batches->next_batch);
}

void recycler::give_batch(std::size_t size_class, free_block* batch) noexcept {
    const std::size_t bytes = batch_size(size_class) * block_size(size_class);
    if (kept_.fetch_add(bytes, relaxed) + bytes > kept_max) {  // only a number
        kept_.fetch_sub(bytes, relaxed);
        free_batch(batch);
        return;
    }
    shelf& to = shelves_[size_class];
    std::lock_guard lock{to.mutex};
    batch->next_batch = std::exchange(to.batches, batch);
}

void recycler::free_batch(free_block* batch) noexcept {
    while (batch != nullptr) ::operator delete(std::exchange(batch, batch->next));
}

// --- a thread's -------------------------------------------------------------------------------------

recycler::cache::cache(recycler& depot) noexcept : depot_{depot} {
    for (std::size_t size_class = 0; size_class != classes; ++size_class) {
        bins_[size_class].room = static_cast<std::uint32_t>(batch_size(size_class));
    }
}

recycler::cache::~cache() {
    for (std::size_t size_class = 0; size_class != classes; ++size_class) {
        bin& own = bins_[size_class];
        free_batch(own.loaded);
        if (own.spare != nullptr) depot_.give_batch(size_class, own.spare);
    }
}

bool recycler::cache::refill(std::size_t size_class) noexcept {
    bin& to = bins_[size_class];
    // In a burst the depot stays empty: it is asked once for as many blocks as it would give.
    if (to.spare == nullptr && to.fresh % batch_size(size_class) != 0) return false;
    to.loaded =
        to.spare != nullptr ? std::exchange(to.spare, nullptr) : depot_.take_batch(size_class);
    if (to.loaded == nullptr) return false;
    to.room = 0;
    to.fresh = 0;
    return true;
}

// Two batches, so that a thread that goes to and fro at the edge of one does not meet the lock.
void recycler::cache::unload(std::size_t size_class) noexcept {
    bin& from = bins_[size_class];
    if (from.spare != nullptr) depot_.give_batch(size_class, from.spare);
    from.spare = std::exchange(from.loaded, nullptr);
    from.room = static_cast<std::uint32_t>(batch_size(size_class));
}

// --- the process ------------------------------------------------------------------------------------

constinit thread_local recycler::cache* own_cache = nullptr;

#if !defined(FAIRLEAD_SANITIZED)
namespace {

thread_local bool ended = false;  // its cache is gone; destructors that run later do without

// Never destroyed: objects of static storage may be freed after everything.
recycler& depot() {
    static recycler& the_depot = *new recycler;
    return the_depot;
}

struct cache_of_thread {
    recycler::cache cache{depot()};
    ~cache_of_thread() {
        own_cache = nullptr;
        ended = true;
    }
};

// The cache of a thread that has none yet, or null.
[[gnu::noinline]] recycler::cache* first_use() {
    if (ended) return nullptr;
    thread_local cache_of_thread own;
    own_cache = &own.cache;
    return own_cache;
}

}  // namespace

void* allocate_slowly(std::size_t size) {
    recycler::cache* const own = own_cache != nullptr ? own_cache : first_use();
    if (own != nullptr) return own->allocate(size);
    return ::operator new(recycler::allocation_size(size));  // another thread may recycle it
}

void free_slowly(void* memory, std::size_t size) noexcept {
    recycler::cache* const own = own_cache != nullptr ? own_cache : first_use();
    if (own != nullptr) {
        own->free(memory, size);
    } else {
        ::operator delete(memory);
    }
}
#else
void* allocate_slowly(std::size_t size) { return ::operator new(size); }
void free_slowly(void* memory, std::size_t) noexcept { ::operator delete(memory); }
#endif

}  // namespace fairlead::sync
