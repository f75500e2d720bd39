#include <fairlead/io/epoll_driver.hpp>

#include <fairlead/base/assert.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::io {
namespace {

constexpr int batches_max = 8;  // then others have their turn

std::error_code last_error() noexcept { return {errno, std::system_category()}; }

}  // namespace

// --- one direction --------------------------------------------------------------------------------

bool edge_source::arm(basic_task& task) noexcept {
    FAIRLEAD_ASSERT(waiting_ == nullptr, "two tasks wait for the same direction of a descriptor");
    // The edge may be older than the attempt that failed; then the next attempt fails once more.
    if (std::exchange(came_, false)) return false;
    waiting_ = &task;
    return true;
}

void edge_source::disarm(basic_task&) noexcept { waiting_ = nullptr; }

void edge_source::notify(event_sink& sink, bool last) noexcept {
    // An end that comes in one edge with data has no edge of its own: remember it as well.
    if (waiting_ == nullptr || last) came_ = true;
    if (waiting_ != nullptr) sink.fire(*waiting_);
}

// --- a descriptor ---------------------------------------------------------------------------------

descriptor::descriptor(descriptor&& other) noexcept
    : driver_{std::exchange(other.driver_, nullptr)},
      registration_{std::exchange(other.registration_, nullptr)},
      fd_{std::move(other.fd_)} {}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
    if (this != &other) {
        close();
        driver_ = std::exchange(other.driver_, nullptr);
        registration_ = std::exchange(other.registration_, nullptr);
        fd_ = std::move(other.fd_);
    }
    return *this;
}

std::expected<descriptor, std::error_code> descriptor::make(epoll_driver& driver,
                                                            os::unique_fd fd) {
    const auto entry = driver.add(fd.get());
    if (!entry) return std::unexpected{entry.error()};
    descriptor made;
    made.driver_ = &driver;
    made.registration_ = *entry;
    made.fd_ = std::move(fd);
    return made;
}

void descriptor::close() noexcept {
    if (!valid()) return;
    driver_->remove(fd_.get(), *std::exchange(registration_, nullptr));
    fd_.reset();
}

// --- the driver -----------------------------------------------------------------------------------

epoll_driver::epoll_driver()
    : epoll_{::epoll_create1(EPOLL_CLOEXEC)}, wakeup_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (!epoll_.valid() || !wakeup_.valid()) {
        throw std::system_error{last_error(), "fairlead: cannot make an epoll driver"};
    }
    // Level triggered, and read by the waiting thread only: a poll that meets the wake-up meanwhile
    // must leave it to that thread.
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) != 0) {
        throw std::system_error{last_error(), "fairlead: cannot make an epoll driver"};
    }
    // Older kernels do not have the call, and some sandboxes refuse it.
    constexpr timespec at_once{};
    nanoseconds_ = ::epoll_pwait2(epoll_.get(), &event, 1, &at_once, nullptr) >= 0;
}

epoll_driver::~epoll_driver() {
    FAIRLEAD_ASSERT(registered_.load(sync::relaxed) == 0,
                    "a descriptor outlived the scheduler whose driver it is registered with");
    while (free_ != nullptr) delete std::exchange(free_, free_->next_free);
}

void epoll_driver::wait(time_point deadline) noexcept {
    timespec limit{};
    if (deadline != never && deadline != immediately) {
        const duration left = std::max(deadline - clock::now(), duration::zero());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        limit.tv_sec = static_cast<time_t>(seconds.count());
        limit.tv_nsec = static_cast<long>((left - seconds).count());
    }
    const int count = wait_for_events(collected_.data(), deadline == never ? nullptr : &limit);
    // An interrupted call has no events: the caller loops.
    const auto end = collected_.begin() + std::max(count, 0);
    const auto is_wakeup = [](const epoll_event& event) { return event.data.ptr == nullptr; };
    if (std::find_if(collected_.begin(), end, is_wakeup) != end) {
        std::uint64_t wakeups = 0;
        while (::read(wakeup_.get(), &wakeups, sizeof(wakeups)) < 0 && errno == EINTR) {
        }
    }
    // [EP1] release: publishes the events to the holder of the role.
    if (count > 0) collected_count_.store(count, sync::release);
}

int epoll_driver::wait_for_events(epoll_event* events, const timespec* limit) const noexcept {
    if (nanoseconds_) return ::epoll_pwait2(epoll_.get(), events, events_max, limit, nullptr);
    int milliseconds = -1;
    if (limit != nullptr) {
        // Rounded up: early would mean once more for nothing. A day at most; the caller loops.
        constexpr std::int64_t longest = 86'400'000;
        const std::int64_t wanted =
            limit->tv_sec * std::int64_t{1000} + (limit->tv_nsec + 999'999) / 1'000'000;
        milliseconds = static_cast<int>(std::min(wanted, longest));
    }
    return ::epoll_wait(epoll_.get(), events, events_max, milliseconds);
}

void epoll_driver::poll(event_sink& sink) noexcept {
    // [EP1] acquire: sees the events. Nobody waits while there are any.
    if (const int count = collected_count_.load(sync::acquire); count != 0) {
        dispatch({collected_.data(), static_cast<std::size_t>(count)}, sink);
        // [EP1] release: the events were read before the next wait overwrites them.
        collected_count_.store(0, sync::release);
    }
    event_batch events;
    for (int batch = 0; batch != batches_max; ++batch) {
        const int count = ::epoll_wait(epoll_.get(), events.data(), events_max, 0);
        if (count > 0) dispatch({events.data(), static_cast<std::size_t>(count)}, sink);
        if (count < events_max) return;
    }
}

void epoll_driver::dispatch(std::span<const epoll_event> events, event_sink& sink) noexcept {
    // [EP2] The kernel orders an event after the registration of its descriptor. This says so to
    // tools that do not know the call: acquire, with the exchange in add.
    static_cast<void>(registered_.load(sync::acquire));
    for (const epoll_event& event : events) {
        auto* const entry = static_cast<registration*>(event.data.ptr);
        if (entry == nullptr) continue;  // the wake-up
        constexpr std::uint32_t failed = EPOLLERR | EPOLLHUP;
        constexpr std::uint32_t input = EPOLLIN | EPOLLRDHUP | EPOLLPRI | failed;
        const bool last = (event.events & (EPOLLRDHUP | failed)) != 0;
        if ((event.events & input) != 0) entry->readable.notify(sink, last);
        if ((event.events & (EPOLLOUT | failed)) != 0) entry->writable.notify(sink, last);
    }
}

void epoll_driver::wake() noexcept {
    const std::uint64_t one = 1;
    // EAGAIN would mean that the counter is full, and then it is readable already.
    while (::write(wakeup_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

std::expected<registration*, std::error_code> epoll_driver::add(int fd) noexcept {
    registration* entry = nullptr;
    {
        std::lock_guard lock{free_mutex_};
        if (free_ != nullptr) entry = std::exchange(free_, free_->next_free);
    }
    if (entry == nullptr) entry = new (std::nothrow) registration;
    if (entry == nullptr) {
        return std::unexpected{std::make_error_code(std::errc::not_enough_memory)};
    }
    registered_.fetch_add(1, sync::acq_rel);  // [EP2]
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = entry}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return entry;
    const std::error_code failure = last_error();
    give_back(*entry);
    return std::unexpected{failure};
}

void epoll_driver::remove(int fd, registration& entry) noexcept {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);  // before the descriptor can be reused
    give_back(entry);
}

void epoll_driver::give_back(registration& entry) noexcept {
    registered_.fetch_sub(1, sync::acq_rel);  // continues the order of [EP2]
    std::lock_guard lock{free_mutex_};
    entry.next_free = free_;
    free_ = &entry;
}

epoll_driver& epoll_driver::of(const scheduler& home) {
    auto* const own = dynamic_cast<epoll_driver*>(&home.driver());
    FAIRLEAD_ASSERT(own != nullptr, "this scheduler has no epoll_driver: pass one in its options");
    return *own;
}

}  // namespace fairlead::io
