#include "savegames/load/ledger.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ios>

#include <fmt/format.h>

namespace savegames::load {
namespace {

constexpr const char* first_line = "savegames-load ledger 1";

}  // namespace

ledger::glimpse ledger::begin(std::size_t player) {
    const std::lock_guard lock{guard(player)};
    const entry& now = entries_[player];
    return {now.floor, now.deletes_begun, now.deletes_open != 0, now.must_exist};
}

ledger::glimpse ledger::begin_delete(std::size_t player) {
    const std::lock_guard lock{guard(player)};
    entry& now = entries_[player];
    const glimpse before{now.floor, now.deletes_begun, now.deletes_open != 0, now.must_exist};
    ++now.deletes_begun;
    ++now.deletes_open;
    now.must_exist = false;
    return before;
}

std::string ledger::saw(std::size_t player, const glimpse& before, std::uint64_t version,
                        std::uint64_t checksum) {
    const std::lock_guard lock{guard(player)};
    const entry& now = entries_[player];
    if (version < before.floor) {
        return fmt::format("read version {} although {} was acknowledged before", version,
                           before.floor);
    }
    if (version == now.version && checksum != now.checksum) {
        return fmt::format("version {} reads {:016x}, but {:016x} was acknowledged", version,
                           checksum, now.checksum);
    }
    return {};
}

std::string ledger::wrote(std::size_t player, const glimpse& before, std::uint64_t version,
                          std::uint64_t checksum) {
    const std::lock_guard lock{guard(player)};
    entry& now = entries_[player];
    if (version <= before.floor) {
        return fmt::format("a write got version {} although {} was acknowledged before", version,
                           before.floor);
    }
    if (version == now.version) {
        return fmt::format("two writes got version {}", version);
    }
    if (version > now.version) {
        now.version = version;
        now.checksum = checksum;
        now.floor = std::max(now.floor, version);
    }
    const bool overlapped = before.delete_under_way || now.deletes_begun != before.deletes_begun;
    if (!overlapped) now.must_exist = true;
    return {};
}

std::string ledger::absent(std::size_t player, const glimpse& before) {
    const std::lock_guard lock{guard(player)};
    return check_absence(entries_[player], before, 0);
}

std::string ledger::check_absence(const entry& now, const glimpse& before,
                                  std::uint32_t own_deletes) {
    if (!before.must_exist || now.deletes_begun != before.deletes_begun + own_deletes) return {};
    return fmt::format("a save is gone: version {} was acknowledged, and no request deleted it",
                       now.version);
}

void ledger::deleted(std::size_t player, const glimpse& before) {
    const std::lock_guard lock{guard(player)};
    entry& now = entries_[player];
    --now.deletes_open;
    now.floor = std::max(now.floor, before.floor + 1);
}

std::string ledger::delete_found_nothing(std::size_t player, const glimpse& before) {
    const std::lock_guard lock{guard(player)};
    entry& now = entries_[player];
    --now.deletes_open;
    return check_absence(now, before, 1);
}

void ledger::delete_refused(std::size_t player) {
    const std::lock_guard lock{guard(player)};
    --entries_[player].deletes_open;
}

bool ledger::knows(std::size_t player) {
    const std::lock_guard lock{guard(player)};
    return entries_[player].version != 0;
}

std::expected<void, std::string> ledger::load(const std::string& path) {
    if (!std::filesystem::exists(path)) return {};
    std::ifstream file{path};
    std::string title;
    if (!std::getline(file, title) || title != first_line) {
        return std::unexpected(
            fmt::format("{} is not a ledger: its first line must be \"{}\"; give another --ledger",
                        path, first_line));
    }
    std::size_t player = 0;
    entry read;
    while (file >> std::dec >> player >> read.floor >> read.version >> read.must_exist >>
           std::hex >> read.checksum) {
        if (player >= entries_.size()) {
            return std::unexpected(
                fmt::format("{} has player {}, but --players is {}: use the same --players", path,
                            player, entries_.size()));
        }
        entries_[player] = read;
    }
    if (!file.eof()) {
        return std::unexpected(
            fmt::format("{} has a line that is not five numbers: give another --ledger", path));
    }
    return {};
}

std::expected<void, std::string> ledger::store(const std::string& path) const {
    std::ofstream file{path};
    file << first_line << '\n';
    for (std::size_t player = 0; player < entries_.size(); ++player) {
        const entry& each = entries_[player];
        if (each.version == 0) continue;
        file << fmt::format("{} {} {} {} {:016x}\n", player, each.floor, each.version,
                            each.must_exist ? 1 : 0, each.checksum);
    }
    file.close();
    if (!file) return std::unexpected(fmt::format("cannot write {}", path));
    return {};
}

}  // namespace savegames::load
