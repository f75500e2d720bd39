// A pool of workers: a fixed number of tasks, a bounded queue, and a future for each job.
#include <fairlead/fairlead.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [pool]
// As many jobs run at once as it has workers, also while they wait, and `waiting` more are queued.
template <class Job, class Result>
class worker_pool {
public:
    using work = std::function<fl::task<Result>(Job)>;

    worker_pool(std::size_t waiting, work does) : work_{std::move(does)}, jobs_{waiting} {}

    // The workers are children of `in`, which must end before the pool.
    void start(fl::scope& in, std::size_t workers) {
        for (std::size_t i = 0; i != workers; ++i) in.spawn(run(), {.name = "worker"});
    }

    // Waits while the queue is full. The future has the result, the exception of the job, or the
    // failure for `broken` if the pool was closed before.
    fl::task<fl::future<Result>> submit(Job job) {
        auto both = fl::make_promise<Result>();
        request next{std::move(job), std::move(both.promise)};
        static_cast<void>(co_await jobs_.send(std::move(next)));
        co_return std::move(both.future);
    }

    // No more jobs. The workers end when the queue is empty.
    void close() { jobs_.close(); }

private:
    struct request {
        Job job;
        fl::promise<Result> answer;
    };

    fl::task<> run() {
        while (auto next = co_await jobs_.receive()) {
            if (!next->answer.is_wanted()) continue;  // its future has gone
            try {
                next->answer.set(co_await work_(std::move(next->job)));
            } catch (...) {
                next->answer.fail(std::current_exception());
            }
        }
    }

    const work work_;
    fl::channel<request> jobs_;
};
// [/pool]

// What the jobs of the program have done.
struct log {
    int begun = 0;
    int running = 0;
    int most = 0;
};

fl::task<int> square(log& in, int of) {
    ++in.begun;
    in.most = std::max(in.most, ++in.running);
    co_await fl::sleep_for(1s);  // stands for a call of another service
    --in.running;
    if (of == 13) throw std::runtime_error{"thirteen"};
    co_return of* of;
}

// [use]
fl::task<int> sum_of_squares(worker_pool<int, int>& pool, int count) {
    std::vector<fl::future<int>> results;
    for (int i = 0; i != count; ++i) results.push_back(co_await pool.submit(i));
    int sum = 0;
    for (auto& each : results) sum += co_await std::move(each);
    co_return sum;
}
// [/use]

struct outcome {
    int sum = 0;
    bool failure_is_given = false;
    bool broken_after_the_end = false;
    fl::duration took{};
};

fl::task<outcome> use(log& jobs) {
    outcome seen;
    const fl::time_point begin = fl::clock::now();
    worker_pool<int, int> pool{8, [&](int of) { return square(jobs, of); }};
    co_await fl::with_scope([&](fl::scope& workers) -> fl::task<> {
        pool.start(workers, 4);
        seen.sum = co_await sum_of_squares(pool, 12);
        seen.took = fl::clock::now() - begin;
        auto bad = co_await pool.submit(13);
        auto dropped = co_await pool.submit(1);
        dropped.detach();
        try {
            static_cast<void>(co_await std::move(bad));
        } catch (const std::runtime_error&) {
            seen.failure_is_given = true;
        }
        pool.close();
        auto late = co_await pool.submit(2);
        try {
            static_cast<void>(co_await std::move(late));
        } catch (const fl::wait_failed& failure) {
            seen.broken_after_the_end = failure.why() == fl::wait_error::broken;
        }
    });
    co_return seen;
}

// --- without a class -----------------------------------------------------------------------------

// [bounded]
// A list that is known at the beginning needs no pool: four of the jobs run at once.
fl::task<std::vector<int>> squares(log& in, int count) {
    std::vector<fl::task<int>> jobs;
    for (int i = 0; i != count; ++i) jobs.push_back(square(in, i));
    co_return co_await fl::when_all(std::move(jobs), fl::max_concurrency{4});
}
// [/bounded]

// [compute]
// Work that computes needs no tasks that wait: a group bounds how many of its steps run at once.
fl::task<long> computes(fl::group& pool) {
    std::vector<fl::future<long>> parts;
    for (long i = 0; i != 8; ++i) {
        parts.push_back(fl::run(pool, [i] {
            std::vector<long> numbers(1000);
            std::iota(numbers.begin(), numbers.end(), i * 1000);
            return std::accumulate(numbers.begin(), numbers.end(), 0L);
        }));
    }
    const auto sums = co_await fl::sequence(std::move(parts));
    co_return std::accumulate(sums.begin(), sums.end(), 0L);
}
// [/compute]

}  // namespace

int main() {
    fl::test::simulated_scheduler simulated;  // a job of a second takes no time
    log jobs;
    const outcome seen = simulated.run(use(jobs));
    std::printf("sum %d after %lld s, %d jobs, %d at once\n", seen.sum,
                static_cast<long long>(seen.took / 1s), jobs.begun, jobs.most);
    const bool pool_works = seen.sum == 506 && seen.took == 3s && seen.failure_is_given &&
                            seen.broken_after_the_end && jobs.most == 4 && jobs.begun == 13;

    log listed;
    const auto all = simulated.run(squares(listed, 10));
    fl::group pool{simulated.scheduler(), {.name = "compute", .max_concurrency = 4}};
    const long sum = simulated.run(computes(pool));
    std::printf("%d of a list, %d at once; computed %ld\n", static_cast<int>(all.size()),
                listed.most, sum);
    return pool_works && all.back() == 81 && listed.most == 4 && sum == 8000L * 7999 / 2 ? 0 : 1;
}
