#include "io/spawn_plan.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace fairlead::io {
namespace {

constexpr int streams = 3;

bool has_nul(const std::string& text) noexcept { return text.contains('\0'); }

std::string_view name_of(std::string_view variable) noexcept {
    return variable.substr(0, variable.find('='));
}

bool is_variable(const std::string& text) noexcept {
    const std::size_t sign = text.find('=');
    return sign != 0 && sign != std::string::npos && !has_nul(text);
}

// A descriptor that the child gets must be none of its streams: where this process has a stream
// closed, the first stream that is set would close it.
int above_streams(os::unique_fd& fd) noexcept {
    if (fd.get() >= streams) return 0;
    os::unique_fd moved{::fcntl(fd.get(), F_DUPFD_CLOEXEC, streams)};
    if (!moved.valid()) return errno;
    fd = std::move(moved);
    return 0;
}

}  // namespace

spawn_plan::~spawn_plan() {
    if (has_actions_) ::posix_spawn_file_actions_destroy(&actions_);
    if (has_attributes_) ::posix_spawnattr_destroy(&attributes_);
}

bool spawn_plan::is_valid() const noexcept {
    return !arguments_.empty() && std::ranges::none_of(arguments_, has_nul) &&
           !has_nul(options_.directory) && std::ranges::all_of(options_.environment, is_variable) &&
           options_.in.what() != child_stream::kind::output &&
           options_.out.what() != child_stream::kind::output;
}

void spawn_plan::list_variables() {
    if (!options_.clear_environment && options_.environment.empty()) return;
    const auto is_set = [&](std::string_view name) {
        return std::ranges::any_of(options_.environment,
                                   [&](std::string_view each) { return name_of(each) == name; });
    };
    for (char** each = environ; !options_.clear_environment && *each != nullptr; ++each) {
        if (!is_set(name_of(*each))) variable_list_.push_back(*each);
    }
    for (const std::string& each : options_.environment) {
        variable_list_.push_back(const_cast<char*>(each.c_str()));
    }
    variable_list_.push_back(nullptr);
}

int spawn_plan::give(child_stream what, std::size_t stream) noexcept {
    os::unique_fd& given = given_[stream];
    if (what.what() == child_stream::kind::pipe) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
        const bool reads = stream == 0;
        given = os::unique_fd{ends[reads ? 0 : 1]};
        own_[stream] = os::unique_fd{ends[reads ? 1 : 0]};
        return above_streams(given);
    }
    if (what.what() == child_stream::kind::descriptor && what.fd() < streams) {
        given = os::unique_fd{::fcntl(what.fd(), F_DUPFD_CLOEXEC, streams)};
        if (!given.valid()) return errno;
    }
    return 0;
}

int spawn_plan::list_actions() noexcept {
    const std::array all{options_.in, options_.out, options_.err};
    for (int stream = 0; stream != streams; ++stream) {
        const auto index = static_cast<std::size_t>(stream);
        const child_stream what = all[index];
        int error = give(what, index);
        if (error != 0) return error;
        const int given = given_[index].valid() ? given_[index].get() : what.fd();
        switch (what.what()) {
            case child_stream::kind::inherited:
                break;
            case child_stream::kind::null:
                error =
                    ::posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_RDWR, 0);
                break;
            case child_stream::kind::pipe:
            case child_stream::kind::descriptor:
                error = ::posix_spawn_file_actions_adddup2(&actions_, given, stream);
                break;
            case child_stream::kind::output:
                error = ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, stream);
                break;
        }
        if (error != 0) return error;
    }
    if (!options_.directory.empty()) {
        const char* const to = options_.directory.c_str();
        if (const int error = ::posix_spawn_file_actions_addchdir_np(&actions_, to)) return error;
    }
    // What another library has opened without close-on-exec.
    return ::posix_spawn_file_actions_addclosefrom_np(&actions_, streams);
}

int spawn_plan::prepare() {
    if (!is_valid()) return EINVAL;
    for (const std::string& each : arguments_) {
        argument_list_.push_back(const_cast<char*>(each.c_str()));
    }
    argument_list_.push_back(nullptr);
    list_variables();
    if (const int error = ::posix_spawn_file_actions_init(&actions_)) return error;
    has_actions_ = true;
    if (const int error = ::posix_spawnattr_init(&attributes_)) return error;
    has_attributes_ = true;
    sigset_t signals{};
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    const int group = options_.group == child_group::own ? POSIX_SPAWN_SETPGROUP : 0;
    const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
    return list_actions();
}

std::expected<pid_t, int> spawn_plan::start() noexcept {
    pid_t made = 0;
    char** const variables = variable_list_.empty() ? environ : variable_list_.data();
    const int error = ::posix_spawnp(&made, argument_list_.front(), &actions_, &attributes_,
                                     argument_list_.data(), variables);
    if (error != 0) return std::unexpected{error};
    return made;
}

}  // namespace fairlead::io
