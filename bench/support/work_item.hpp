// The user-owned task of the rivals: an intrusive node with a function. The twin of callback_task.
#pragma once

namespace bench {

struct work_item {
    using function = void (*)(work_item&);

    work_item() = default;
    explicit work_item(function step) noexcept : run{step} {}
    work_item(const work_item&) = delete;
    work_item& operator=(const work_item&) = delete;

    work_item* next = nullptr;
    function run = nullptr;
};

}  // namespace bench
