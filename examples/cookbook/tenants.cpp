// A group for each tenant: a share of the workers, a bound of the queue, and figures.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

void compute_for(fl::duration time) {
    const fl::time_point end = fl::clock::now() + time;
    while (fl::clock::now() < end) {
    }
}

// [tenants]
// The group of each tenant, made when the tenant is first seen. Any thread.
class tenants {
public:
    explicit tenants(fl::scheduler& home) : home_{home} {}

    fl::group& of(std::string_view name) {
        const std::lock_guard lock{mutex_};
        const auto found = groups_.find(name);
        if (found != groups_.end()) return found->second;
        const fl::group_options options{.name = std::string{name}, .queue_max = 200};
        return groups_.emplace(name, fl::group{home_, options}).first->second;
    }

private:
    fl::scheduler& home_;
    std::mutex mutex_;
    std::map<std::string, fl::group, std::less<>> groups_;  // guarded by mutex_
};
// [/tenants]

// [admit]
// False: the tenant has 200 requests that have not begun. An HTTP server answers 429.
bool admit(tenants& all, std::string_view tenant) {
    return all.of(tenant).try_post([] { compute_for(50us); });
}
// [/admit]

void print(const fl::group& tenant) {
    // [figures]
    const fl::group_stats stats = tenant.stats();
    std::printf("%s: %llu steps, %.1f ms of a worker, %llu refused\n", tenant.name().c_str(),
                static_cast<unsigned long long>(stats.steps),
                std::chrono::duration<double, std::milli>{stats.used}.count(),
                static_cast<unsigned long long>(stats.refused));
    // [/figures]
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    tenants all{scheduler};
    fl::group& noisy = all.of("noisy");
    fl::group& quiet = all.of("quiet");
    // [weights]
    quiet.set_weight(300);  // at run time: three times the share of the default weight
    // [/weights]

    noisy.pause();  // for the example, so that all its requests come at once
    int admitted = 0;
    for (int i = 0; i != 2'000; ++i) admitted += admit(all, "noisy") ? 1 : 0;
    int quiet_admitted = 0;
    for (int i = 0; i != 20; ++i) quiet_admitted += admit(all, "quiet") ? 1 : 0;
    noisy.resume();
    scheduler.drain();

    print(noisy);
    print(quiet);
    const bool good = quiet_admitted == 20 && quiet.stats().steps == 20 && admitted == 200 &&
                      noisy.stats().refused == 1'800;
    return good ? 0 : 1;
}
