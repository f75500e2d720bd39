// An array of a fixed capacity, whose elements are made one after the other and never move: for
// objects that cannot be moved. One allocation.
#pragma once

#include <fairlead/detail/base/assert.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace fairlead::base {

template <class T>
class fixed_array {
public:
    explicit fixed_array(std::size_t capacity)
        : capacity_{capacity}, first_{capacity != 0 ? memory_.allocate(capacity) : nullptr} {}
    fixed_array(const fixed_array&) = delete;
    fixed_array& operator=(const fixed_array&) = delete;
    ~fixed_array() {
        std::destroy_n(first_, size_);
        if (first_ != nullptr) memory_.deallocate(first_, capacity_);
    }

    template <class... Args>
    T& emplace_back(Args&&... args) {
        FAIRLEAD_ASSERT(size_ != capacity_, "a fixed array is full");
        T* const made = std::construct_at(first_ + size_, std::forward<Args>(args)...);
        ++size_;
        return *made;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* begin() noexcept { return first_; }
    [[nodiscard]] T* end() noexcept { return first_ + size_; }

private:
    [[no_unique_address]] std::allocator<T> memory_;
    const std::size_t capacity_;
    T* const first_;
    std::size_t size_ = 0;
};

}  // namespace fairlead::base
