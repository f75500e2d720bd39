// Loads a plugin, calls it, and unloads it, twice.
#include <dlfcn.h>

#include <cstdio>

int main(int, char** arguments) {
    for (int round = 0; round != 2; ++round) {
        void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            std::fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        auto* const sum = reinterpret_cast<int (*)(int)>(dlsym(plugin, "plugin_sum_of_squares"));
        if (sum == nullptr || sum(10) != 385) return 1;
        dlclose(plugin);
    }
    return 0;
}
