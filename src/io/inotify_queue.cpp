#include "io/inotify_queue.hpp"

#include "io/socket_calls.hpp"

#include <fairlead/io/file_watch.hpp>

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace fairlead::io {
namespace {

using kind = file_event::kind;

constexpr std::size_t longest_event = sizeof(inotify_event) + NAME_MAX + 1;

// What an event says; none: it is not told, as another one follows that says the same.
std::optional<kind> kind_of(std::uint32_t mask) noexcept {
    constexpr std::pair<std::uint32_t, kind> kinds[] = {
        {IN_Q_OVERFLOW, kind::overflow},  {IN_IGNORED, kind::ended},
        {IN_CREATE, kind::created},       {IN_DELETE, kind::removed},
        {IN_MOVED_FROM, kind::moved_out}, {IN_MOVED_TO, kind::moved_in},
        {IN_CLOSE_WRITE, kind::written},  {IN_MODIFY, kind::modified},
        {IN_ATTRIB, kind::attributes},    {IN_MOVE_SELF, kind::moved_itself},
    };
    for (const auto& [bit, what] : kinds) {
        if ((mask & bit) != 0) return what;
    }
    return {};
}

}  // namespace

inotify_queue::entry inotify_queue::entry_at(std::size_t at) const noexcept {
    inotify_event head;
    std::memcpy(&head, buffer_.data() + at, sizeof(head));
    const auto* const name = reinterpret_cast<const char*>(buffer_.data() + at + sizeof(head));
    return {.at = at,
            .size = sizeof(head) + head.len,
            .watch = head.wd,
            .mask = head.mask,
            .cookie = head.cookie,
            .name = {name, ::strnlen(name, head.len)}};  // null bytes fill it up
}

void inotify_queue::drop(const entry& one) noexcept {
    const std::uint32_t none = 0;
    std::memcpy(buffer_.data() + one.at + offsetof(inotify_event, mask), &none, sizeof(none));
}

// Reads what there is behind the events that are here. 0, or an error of the system.
int inotify_queue::fill() noexcept {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    const std::ptrdiff_t count =
        repeated([&] { return ::read(fd_, buffer_.data() + end_, buffer_.size() - end_); });
    if (count < 0) return static_cast<int>(-count);
    end_ += static_cast<std::size_t>(count);
    return count == 0 ? EAGAIN : 0;
}

bool inotify_queue::is_forgotten(const entry& one) noexcept {
    if (one.mask == 0) return true;
    const auto found = std::ranges::find(forgotten_, one.watch);
    if (found == forgotten_.end()) return false;
    if ((one.mask & IN_IGNORED) != 0) forgotten_.erase(found);
    return true;
}

// `behind`: how many events are behind the first half.
bool inotify_queue::may_wait_for_half(std::size_t behind, time_point now) noexcept {
    if (behind >= events_between_max || buffer_.size() - (end_ - begin_) < longest_event) {
        return false;
    }
    if (!half_until_) half_until_ = after(now, file_watch::move_patience);
    return now < *half_until_;
}

// The event that begins with the first half of a move, which is in front.
inotify_queue::taken inotify_queue::take_first_half(const entry& first, time_point now) {
    for (;;) {
        std::optional<entry> second;
        std::size_t behind = 0;
        const entry front = entry_at(begin_);
        for (std::size_t at = begin_ + front.size; at != end_ && !second; ++behind) {
            const entry next = entry_at(at);
            if ((next.mask & IN_MOVED_TO) != 0 && next.cookie == first.cookie) second = next;
            at += next.size;
        }
        if (!second && may_wait_for_half(behind, now)) {
            const int error = fill();
            if (error == 0) continue;
            if (error == EAGAIN) return {.until = *half_until_};
            return {.error = error};
        }
        file_event made{.what = kind::moved_out,
                        .where = watched_id{front.watch},
                        .name = std::string{front.name},
                        .is_folder = (front.mask & IN_ISDIR) != 0};
        if (second && !is_forgotten(*second)) {
            made.what = kind::moved;
            made.from = std::exchange(made.where, watched_id{second->watch});
            made.from_name = std::exchange(made.name, std::string{second->name});
        }
        if (second) drop(*second);
        half_until_.reset();
        begin_ += front.size;
        return {.event = std::move(made)};
    }
}

inotify_queue::taken inotify_queue::take(time_point now) {
    const std::lock_guard lock{mutex_};
    for (;;) {
        if (begin_ == end_) {
            const int error = fill();
            if (error == EAGAIN) {
                forgotten_.clear();
                return {};
            }
            if (error != 0) return {.error = error};
        }
        const entry first = entry_at(begin_);
        if (!is_forgotten(first)) {
            if ((first.mask & IN_MOVED_FROM) != 0) return take_first_half(first, now);
            if (const auto what = kind_of(first.mask)) {
                const bool is_of_none = *what == kind::overflow;
                file_event made{.what = *what,
                                .where = is_of_none ? watched_id::none : watched_id{first.watch},
                                .name = std::string{first.name},
                                .is_folder = (first.mask & IN_ISDIR) != 0};
                begin_ += first.size;
                return {.event = std::move(made)};
            }
        }
        half_until_.reset();
        begin_ += first.size;
    }
}

int inotify_queue::forget(watched_id which) {
    const std::lock_guard lock{mutex_};
    const int watch = static_cast<int>(which);
    forgotten_.reserve(forgotten_.size() + 1);
    if (::inotify_rm_watch(fd_, watch) != 0) return errno;
    forgotten_.push_back(watch);
    for (std::size_t at = begin_; at != end_;) {
        const entry one = entry_at(at);
        if (one.watch == watch) drop(one);
        at += one.size;
    }
    return 0;
}

}  // namespace fairlead::io
