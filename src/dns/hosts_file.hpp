// The file of hosts: names that no server is asked for.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/wait/mutex.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fairlead::dns::detail {

/// The addresses of each name, which is normalized, in the order of the file. Lines that cannot be
/// read are skipped.
using hosts = std::unordered_map<std::string, std::vector<io::address>>;
[[nodiscard]] hosts parse_hosts(std::string_view text);

/// The file, read again when it has changed. A file that cannot be read has no names.
class hosts_file {
public:
    /// Looks at the file when so much time has passed since the last look.
    hosts_file(std::string path, duration interval) : path_{std::move(path)}, interval_{interval} {}

    /// The addresses of a normalized name; none: it is not in the file. Errors: those of waits.
    [[nodiscard]] task<std::expected<std::vector<io::address>, std::error_code>> find(
        std::string_view name, time_point deadline);

private:
    // What changes when the file does.
    struct stamp {
        std::int64_t seconds = 0, nanoseconds = 0, size = -1;
        std::uint64_t inode = 0;
        friend bool operator==(const stamp&, const stamp&) = default;
    };
    [[nodiscard]] static stamp stamp_of(const std::string& path) noexcept;
    void look();

    const std::string path_;
    const duration interval_;
    mutex guards_;  // of all below, also over the look, which goes to a thread
    time_point looked_at_ = never;
    stamp seen_;
    hosts all_;
};

}  // namespace fairlead::dns::detail
