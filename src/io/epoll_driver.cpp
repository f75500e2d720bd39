#include <fairlead/io/epoll_driver.hpp>

#include "io/file_ring.hpp"
#include "sched/task/trace.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/os/process.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace fairlead::io {

using sched::trace;

namespace {

constexpr int batches_max = 8;  // then tasks have their turn

constexpr std::uint32_t failed = EPOLLERR | EPOLLHUP;
constexpr std::uint32_t input = EPOLLIN | EPOLLRDHUP | EPOLLPRI | failed;
constexpr std::uint32_t any_event = input | EPOLLOUT;

std::error_code last_error() noexcept { return {errno, std::system_category()}; }

}  // namespace

// --- one direction -------------------------------------------------------------------------------

bool edge_source::arm(basic_task& task) noexcept {
    FAIRLEAD_ASSERT(waiting_.load(sync::relaxed) == nullptr,
                    "two tasks wait for the same direction of a descriptor");
    // The edge may be older than the attempt that failed; then the next attempt fails once more.
    const bool come =
        std::exchange(came_, false) || std::exchange(last_, false) || closed_.load(sync::relaxed);
    trace("arm", &task, !come);
    if (come) return false;
    waiting_.store(&task, sync::relaxed);
    return true;
}

void edge_source::disarm(basic_task&) noexcept { waiting_.store(nullptr, sync::relaxed); }

void edge_source::open() noexcept { closed_.store(false, sync::relaxed); }

void edge_source::close() noexcept {
    closed_.store(true, sync::relaxed);
    FAIRLEAD_ASSERT(
        waiting_.load(sync::relaxed) == nullptr,
        "a stream, a listener or a watch was closed while a task waits for it: stop that task, or "
        "call shutdown_receive");
}

void edge_source::notify(event_sink& sink, bool last) noexcept {
    trace("notify", static_cast<const wait_source*>(this), last);
    // An end that comes in one edge with data has no edge of its own: remember it as well.
    if (last) last_ = true;
    if (basic_task* const task = waiting_.load(sync::relaxed)) {
        sink.fire(*task);
    } else {
        came_ = true;
    }
}

// --- a descriptor --------------------------------------------------------------------------------

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
    const auto entry = driver.add(fd.get(), epoll_driver::telling::of_edges);
    if (!entry) return std::unexpected{entry.error()};
    descriptor made;
    made.driver_ = &driver;
    made.registration_ = *entry;
    made.fd_ = std::move(fd);
    return made;
}

void descriptor::close() noexcept {
    if (!valid()) return;
    registration_->readable_.close();
    registration_->writable_.close();
    driver_->remove(fd_.get(), *std::exchange(registration_, nullptr));
    fd_.reset();
}

// --- the driver ----------------------------------------------------------------------------------

epoll_driver::epoll_driver(const epoll_driver_options& options)
    : epoll_{::epoll_create1(EPOLL_CLOEXEC)},
      wakeup_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      timer_{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)},
      files_{std::make_unique<detail::file_ring>(options, epoll_.get(), mark_of_files(),
                                                 registered_)} {
    os::count_forks();
    fork_depth_ = os::fork_depth();
    if (options.file_operations_max < 1 || options.file_operations_max > 4096) {
        throw std::invalid_argument{"fairlead: file_operations_max must be 1 to 4096"};
    }
    // Level triggered, and only the waiting thread consumes these events: a poll that meets one
    // must leave it to that thread.
    for (os::unique_fd* const own : {&wakeup_, &timer_}) {
        epoll_event event{.events = EPOLLIN, .data = {.ptr = own}};
        if (!epoll_.valid() || !own->valid() ||
            ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own->get(), &event) != 0) {
            throw std::system_error{last_error(), "fairlead: cannot make an epoll driver"};
        }
    }
}

epoll_driver::~epoll_driver() {
    FAIRLEAD_ASSERT(registered_.load(sync::relaxed) == 0,
                    "a descriptor outlived the scheduler whose driver it is registered with");
    while (free_ != nullptr) delete std::exchange(free_, free_->next_free_);
}

bool epoll_driver::set_deadline(time_point deadline) noexcept {
    if (deadline == deadline_) return true;
    deadline_ = deadline;
    itimerspec at{};  // all zero: no deadline
    if (deadline != never) {
        // A deadline in the past fires at once, but zero would not fire.
        const duration since_start = std::max(deadline.time_since_epoch(), duration{1});
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_start);
        at.it_value.tv_sec = static_cast<time_t>(seconds.count());
        at.it_value.tv_nsec = static_cast<long>((since_start - seconds).count());
    }
    // The call also clears an expiry that was not read. It cannot fail: the arguments are right.
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
    return true;
}

void epoll_driver::wait() noexcept {
    trace("wait");
    const int count = ::epoll_wait(epoll_.get(), collected_.data(), events_max, -1);
    // An interrupted call has no events: the caller loops.
    const auto end = collected_.begin() + std::max(count, 0);
    const auto is_wakeup = [this](const epoll_event& event) { return event.data.ptr == &wakeup_; };
    if (std::find_if(collected_.begin(), end, is_wakeup) != end) {
        std::uint64_t wakeups = 0;
        while (::read(wakeup_.get(), &wakeups, sizeof(wakeups)) < 0 && errno == EINTR) {
        }
    }
    // [EP1] release: publishes the events to the holder of the role.
    if (count > 0) collected_count_.store(count, sync::release);
    trace("collected", std::span{collected_.begin(), end}, count > 0);
}

void epoll_driver::poll(event_sink& sink) noexcept {
    // [EP1] acquire: sees the events. No thread waits in epoll while there are any.
    if (const int count = collected_count_.load(sync::acquire); count != 0) {
        dispatch({collected_.data(), static_cast<std::size_t>(count)}, sink);
        // [EP1] release: the events were read before the next wait overwrites them.
        collected_count_.store(0, sync::release);
        trace("cleared");
        if (count < events_max)
            return;  // there were no more events; later ones are for the next call
    }
    event_batch events;
    for (int batch = 0; batch != batches_max; ++batch) {
        const int count = ::epoll_wait(epoll_.get(), events.data(), events_max, 0);
        const std::span come{events.data(), static_cast<std::size_t>(std::max(count, 0))};
        trace("polled", come);
        if (count > 0) dispatch(come, sink);
        if (count < events_max) return;
    }
}

void epoll_driver::dispatch(std::span<const epoll_event> events, event_sink& sink) noexcept {
    // [EP2] The kernel orders an event after the registration of its descriptor. This load tells
    // tools that do not know the system call: acquire, with the exchange in add.
    static_cast<void>(registered_.load(sync::acquire));
    for (const epoll_event& event : events) {
        if (event.data.ptr == &wakeup_ || event.data.ptr == &timer_) continue;
        if (event.data.ptr == mark_of_files()) {
            files_->reap(&sink);
            continue;
        }
        auto* const entry = static_cast<registration*>(event.data.ptr);
        const bool last = (event.events & (EPOLLRDHUP | failed)) != 0;
        // Urgent data: a read ends before them, and no edge may come for the data behind them. The
        // task that is fired carries the mark.
        if ((event.events & EPOLLPRI) != 0) entry->set_short_reads(true);
        const std::uint32_t for_reader = entry->told_to_reader_.load(sync::relaxed);
        if ((event.events & for_reader) != 0) entry->readable_.notify(sink, last);
        if ((event.events & (EPOLLOUT | failed)) != 0) entry->writable_.notify(sink, last);
    }
}

void epoll_driver::wake() noexcept {
    const std::uint64_t one = 1;
    // EAGAIN would mean that the counter is full, and then it is readable already.
    while (::write(wakeup_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

std::expected<registration*, std::error_code> epoll_driver::add(int fd, telling how) noexcept {
    registration* entry = nullptr;
    {
        std::lock_guard lock{free_mutex_};
        if (free_ != nullptr) entry = std::exchange(free_, free_->next_free_);
    }
    if (entry == nullptr) entry = new (std::nothrow) registration{*this};
    if (entry == nullptr) {
        return std::unexpected{std::make_error_code(std::errc::not_enough_memory)};
    }
    const bool of_edges = how == telling::of_edges;
    entry->set_short_reads(false);  // registered below
    entry->told_to_reader_.store(of_edges ? input : any_event, sync::relaxed);
    entry->readable_.open();
    entry->writable_.open();
    registered_.fetch_add(1, sync::acq_rel);  // [EP2]
    constexpr std::uint32_t edges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
    epoll_event event{.events = of_edges ? edges : EPOLLONESHOT, .data = {.ptr = entry}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return entry;
    const std::error_code failure = last_error();
    give_back(*entry);
    return std::unexpected{failure};
}

int epoll_driver::tell_once(int fd, registration& entry, std::uint32_t events) noexcept {
    epoll_event event{.events = events | EPOLLONESHOT, .data = {.ptr = &entry}};
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : errno;
}

std::expected<network::socket*, std::error_code> epoll_driver::add(os::unique_fd owned,
                                                                   int family) noexcept {
    const auto entry = add(owned.get(), telling::of_edges);
    if (!entry) return std::unexpected{entry.error()};
    (*entry)->fd_ = std::move(owned);
    (*entry)->is_unix_ = family == AF_UNIX;
    return *entry;
}

void epoll_driver::remove(int fd, registration& entry) noexcept {
    // Before the descriptor can be used again. A child of fork has copies of the descriptors, and
    // shares what they stand for: a removal there would take the descriptor from the set of the
    // parent, whose tasks would wait for ever.
    if (os::fork_depth() == fork_depth_) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    give_back(entry);
}

void epoll_driver::give_back(registration& entry) noexcept {
    registered_.fetch_sub(1, sync::acq_rel);  // continues the order of [EP2]
    std::lock_guard lock{free_mutex_};
    entry.next_free_ = free_;
    free_ = &entry;
}

file_ring_stats epoll_driver::file_ring() const noexcept { return files_->stats(); }

epoll_driver& epoll_driver::of(const scheduler& home) {
    auto* const own = dynamic_cast<epoll_driver*>(&home.driver());
    FAIRLEAD_ASSERT(own != nullptr, "this scheduler has no epoll_driver: pass one in its options");
    return *own;
}

}  // namespace fairlead::io
