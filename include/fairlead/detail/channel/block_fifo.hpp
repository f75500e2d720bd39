// The elements of a channel: a FIFO in blocks. One thread at a time.
//
//     head_                                    tail_
//     [ - - x x ] -> [ x x x x ] -> [ x x - - ]        spares_: [ ] -> [ ]
//           ^ begin_                      ^ end_
//
// A bounded FIFO allocates all its blocks at once, so that a push never fails. An unbounded one
// allocates a block for every 32 elements, frees the block when it was read, and keeps one. A FIFO
// that becomes empty begins again at the start of its block: a short one stays in one cache line.
#pragma once

#include <fairlead/detail/base/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace fairlead::channels {

template <class T>
class block_fifo {
public:
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// For at most `capacity` elements. Allocates room for them, unless it is `unbounded`.
    explicit block_fifo(std::size_t capacity)
        : capacity_{capacity},
          block_size_{static_cast<std::uint32_t>(std::min(capacity, block_max))} {
        if (capacity == unbounded) return;
        // The first and the last block may be used in part.
        try {
            for (std::size_t i = 0; i != (capacity - 1) / block_size_ + 2; ++i) keep(*make_block());
        } catch (...) {
            free_spares();
            throw;
        }
    }
    block_fifo(const block_fifo&) = delete;
    block_fifo& operator=(const block_fifo&) = delete;
    ~block_fifo() {
        while (!empty()) pop();
        if (head_ != nullptr) free(head_);
        free_spares();
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// There must be room. An unbounded one may throw `std::bad_alloc`, and then nothing has
    /// changed.
    void push(T&& value) {
        push_made([&]() noexcept -> T&& { return std::move(value); });
    }

    /// The same with what `make` returns, which is called after the allocation.
    template <class Make>
    void push_made(Make&& make) {
        if (tail_ == nullptr || end_ == block_size_) append_block();
        ::new (static_cast<void*>(item(tail_, end_))) T(make());
        ++end_;
        ++size_;
    }

    /// The oldest; there must be one.
    [[nodiscard]] T& front() noexcept { return *item(head_, begin_); }

    /// Destroys the oldest.
    void pop() noexcept {
        std::destroy_at(item(head_, begin_));
        ++begin_;
        --size_;
        if (size_ == 0) {
            begin_ = end_ = 0;
        } else if (begin_ == block_size_) {
            drop_block();
        }
    }

private:
    struct alignas(std::max(alignof(T), alignof(void*))) block {
        block* next = nullptr;
    };

    static constexpr std::size_t block_max = 32;
    static constexpr std::align_val_t alignment{alignof(block)};

    [[nodiscard]] static T* item(block* of, std::uint32_t index) noexcept {
        return reinterpret_cast<T*>(of + 1) + index;
    }

    [[nodiscard]] block* make_block() const {
        return new (::operator new(sizeof(block) + block_size_ * sizeof(T), alignment)) block;
    }
    static void free(block* which) noexcept { ::operator delete(which, alignment); }

    void keep(block& which) noexcept {
        which.next = spares_;
        spares_ = &which;
    }
    void free_spares() noexcept {
        while (spares_ != nullptr) free(std::exchange(spares_, spares_->next));
    }

    void append_block() {
        block* const fresh =
            spares_ != nullptr ? std::exchange(spares_, spares_->next) : make_block();
        fresh->next = nullptr;
        if (tail_ != nullptr) {
            tail_->next = fresh;
        } else {
            head_ = fresh;
            begin_ = 0;
        }
        tail_ = fresh;
        end_ = 0;
    }

    void drop_block() noexcept {
        block* const read = std::exchange(head_, head_->next);
        begin_ = 0;
        if (capacity_ != unbounded || spares_ == nullptr) {
            keep(*read);
        } else {
            free(read);
        }
    }

    const std::size_t capacity_;
    block* head_ = nullptr;
    block* tail_ = nullptr;
    block* spares_ = nullptr;
    std::size_t size_ = 0;
    std::uint32_t begin_ = 0;  // of the oldest, in head_
    std::uint32_t end_ = 0;    // behind the newest, in tail_
    const std::uint32_t block_size_;
};

}  // namespace fairlead::channels
