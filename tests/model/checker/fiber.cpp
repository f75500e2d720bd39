#include "model/checker/fiber.hpp"

#include <cxxabi.h>

#include <cstdint>
#include <cstring>

namespace fairlead::model {

#if defined(__x86_64__)

// Saves what the callee of a function must keep (System V ABI), and takes the other stack.
extern "C" void fairlead_model_switch(void** saved, void* to);
asm(R"(
.text
.globl fairlead_model_switch
.type fairlead_model_switch,@function
fairlead_model_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size fairlead_model_switch,.-fairlead_model_switch
)");

#endif

void fiber::prepare(void (*entry)(), std::span<std::byte> stack) {
    exceptions_ = {};
#if defined(__x86_64__)
    auto top = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) & ~std::uintptr_t{15};
    auto* frame = reinterpret_cast<void**>(top);
    *--frame = nullptr;  // the address to which `entry` would return
    *--frame = reinterpret_cast<void*>(entry);
    for (int i = 0; i != 6; ++i) *--frame = nullptr;
    saved_ = frame;
#else
    getcontext(&saved_);
    saved_.uc_stack.ss_sp = stack.data();
    saved_.uc_stack.ss_size = stack.size();
    saved_.uc_link = nullptr;
    makecontext(&saved_, entry, 0);
#endif
}

void fiber::switch_to(fiber& to) noexcept {
    auto* const globals = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
    exceptions_ = *globals;
    *globals = to.exceptions_;
#if defined(__x86_64__)
    fairlead_model_switch(&saved_, to.saved_);
#else
    swapcontext(&saved_, &to.saved_);
#endif
}

}  // namespace fairlead::model
