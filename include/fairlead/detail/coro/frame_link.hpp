// What every coroutine of the library knows about its place in the stack, from its start on.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <coroutine>

namespace fairlead::coro {

class fork;
class root;

struct frame_link {
    root* bottom;
    std::coroutine_handle<> continuation;  // what awaits this coroutine; null: the root
    frame_link* parent;                    // the link of `continuation`
    std::coroutine_handle<>* owner;        // the handle that would destroy this frame
    fork* forked_by;                       // is told of its end, before `continuation`
};

}  // namespace fairlead::coro
