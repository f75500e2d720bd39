#include "dns/hosts_file.hpp"

#include "dns/host_name.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/detail/io/errors.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <utility>

namespace fairlead::dns::detail {
namespace {

constexpr std::string_view blanks = " \t\r";

// The next word; empty: none is left.
std::string_view next_word(std::string_view& line) noexcept {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

}  // namespace

hosts parse_hosts(std::string_view text) {
    hosts all;
    while (!text.empty()) {
        const std::size_t size = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, size);
        text.remove_prefix(std::min(size + 1, text.size()));
        line = line.substr(0, line.find('#'));
        const auto where = io::address::parse(next_word(line), 0);
        if (!where) continue;
        for (std::string_view name = next_word(line); !name.empty(); name = next_word(line)) {
            std::vector<io::address>& known = all[normalized(name)];
            if (std::ranges::find(known, *where) == known.end()) known.push_back(*where);
        }
    }
    return all;
}

hosts_file::stamp hosts_file::stamp_of(const std::string& path) noexcept {
    struct ::stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size, status.st_ino};
}

// The stamp is that of before: a change during the read is seen by the next look.
void hosts_file::look() {
    const stamp now = stamp_of(path_);
    if (now == seen_) return;
    std::ifstream file{path_, std::ios::binary};
    all_ = parse_hosts(std::string{std::istreambuf_iterator<char>{file}, {}});
    seen_ = now;
}

task<std::expected<std::vector<io::address>, std::error_code>> hosts_file::find(
    std::string_view name, time_point deadline) {
    std::vector<io::address> none;
    if (path_.empty()) co_return none;
    auto lock = co_await guards_.lock(deadline);
    if (!lock) co_return std::unexpected{io::detail::code_of(lock.error())};
    const time_point now = clock::now();
    if (looked_at_ == never || now >= after(looked_at_, interval_)) {
        auto looks = [this] { look(); };
        const auto looked = co_await as_result(blocking(looks));
        if (!looked) co_return std::unexpected{io::detail::code_of(looked.error())};
        looked_at_ = now;
    }
    const auto found = all_.find(std::string{name});
    if (found == all_.end()) co_return none;
    co_return found->second;
}

}  // namespace fairlead::dns::detail
