#include "diagnostics/code_name.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#if defined(__GLIBC__)
#include <link.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace fairlead::diagnostics {
namespace {

struct place {
    Dl_info info{};
    std::uintptr_t moved_by = 0;  // the difference to the address in the file of the object
};

bool find(std::uintptr_t address, place& to) noexcept {
    auto* const code = reinterpret_cast<void*>(address);
#if defined(__GLIBC__)
    void* object = nullptr;
    if (::dladdr1(code, &to.info, &object, RTLD_DL_LINKMAP) == 0) return false;
    to.moved_by = static_cast<const link_map*>(object)->l_addr;
#else
    if (::dladdr(code, &to.info) == 0) return false;
    to.moved_by = reinterpret_cast<std::uintptr_t>(to.info.dli_fbase);
#endif
    return true;
}

struct freeing {
    void operator()(char* text) const noexcept { std::free(text); }
};

}  // namespace

void name_code(std::uintptr_t address, std::span<char> text) noexcept {
    place at;
    if (!find(address, at)) {
        std::snprintf(text.data(), text.size(), "0x%zx", static_cast<std::size_t>(address));
        return;
    }
    const char* const object = at.info.dli_fname;
    const std::size_t in_object = address - at.moved_by;
    const char* const symbol = at.info.dli_sname;
    if (symbol == nullptr) {
        std::snprintf(text.data(), text.size(), "%s+0x%zx", object, in_object);
        return;
    }
    int status = 0;
    const std::unique_ptr<char, freeing> readable{
        abi::__cxa_demangle(symbol, nullptr, nullptr, &status)};
    const std::size_t in_function = address - reinterpret_cast<std::uintptr_t>(at.info.dli_saddr);
    std::snprintf(text.data(), text.size(), "%s+0x%zx %s+0x%zx", object, in_object,
                  readable != nullptr ? readable.get() : symbol, in_function);
}

}  // namespace fairlead::diagnostics
