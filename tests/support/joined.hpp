// Several buffers as one.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fairlead::test {

inline std::string joined(std::span<const std::span<const std::byte>> parts) {
    std::string all;
    for (const std::span<const std::byte> each : parts) {
        all.append(reinterpret_cast<const char*>(each.data()), each.size());
    }
    return all;
}

}  // namespace fairlead::test
