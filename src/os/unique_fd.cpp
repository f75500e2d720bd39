#include <fairlead/os/unique_fd.hpp>

#include <unistd.h>

namespace fairlead::os {

void close_fd(int fd) noexcept { ::close(fd); }

}  // namespace fairlead::os
