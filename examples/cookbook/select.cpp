// The first of several things: a batch that is full or old, and two sources of which one ends.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

using rows = std::vector<int>;

// [batches]
// Collects rows into batches: a batch goes out when it has ten rows, or 20 ms after its first row,
// or when no more rows come.
fl::task<> batches(fl::channel<int>& in, fl::channel<rows>& out) {
    rows batch;
    fl::time_point due = fl::never;
    bool open = true;
    while (open) {
        bool send = false;
        const auto ended = co_await fl::select(
            fl::on(in.receive(),
                   [&](fl::waited<int> row) {
                       open = row.has_value();
                       if (!open) return;
                       if (batch.empty()) due = fl::clock::now() + 20ms;
                       batch.push_back(*row);
                       send = batch.size() == 10;
                   }),
            fl::on_if(!batch.empty(), fl::sleep_until(due), [&] { send = true; }));
        if (!ended) co_return;  // the task was asked to stop
        if (batch.empty() || (!send && open)) continue;
        if (!co_await out.send(std::exchange(batch, {}))) co_return;
    }
    out.close();
}
// [/batches]

// [merge]
// One channel out of two. A channel that is closed is left out from then on; a closed channel would
// end its branch at once, again and again.
fl::task<int> sum_of_both(fl::channel<int>& left, fl::channel<int>& right) {
    int sum = 0;
    bool has_left = true;
    bool has_right = true;
    while (has_left || has_right) {
        const auto taken =
            co_await fl::select(fl::on_if(has_left, left.receive(),
                                          [&](fl::waited<int> value) {
                                              has_left = value.has_value();
                                              sum += value.value_or(0);
                                          }),
                                fl::on_if(has_right, right.receive(), [&](fl::waited<int> value) {
                                    has_right = value.has_value();
                                    sum += value.value_or(0);
                                }));
        if (!taken) break;
    }
    co_return sum;
}
// [/merge]

fl::task<> sends(fl::channel<int>& into, int count, fl::duration pause) {
    for (int i = 0; i != count; ++i) {
        if (!co_await into.send(int{1})) co_return;
        co_await fl::sleep_for(pause);
    }
    into.close();
}

fl::task<int> counts_rows() {
    fl::channel<int> in{4};
    fl::channel<rows> out{4};
    int sum = 0;
    co_await fl::with_scope([&](fl::scope& tasks) -> fl::task<> {
        tasks.spawn(sends(in, 35, 1ms));
        tasks.spawn(batches(in, out));
        while (const auto batch = co_await out.receive()) {
            if (batch->size() > 10) std::abort();
            for (const int row : *batch) sum += row;
        }
    });
    co_return sum;
}

fl::task<int> merges() {
    fl::channel<int> left{1};
    fl::channel<int> right{1};
    int sum = 0;
    co_await fl::with_scope([&](fl::scope& tasks) -> fl::task<> {
        tasks.spawn(sends(left, 5, 1ms));
        tasks.spawn(sends(right, 7, 0ms));
        sum = co_await sum_of_both(left, right);
    });
    co_return sum;
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const int rows = fl::block_on(scheduler, counts_rows());
    const int merged = fl::block_on(scheduler, merges());
    std::printf("%d rows, %d merged\n", rows, merged);
    return rows == 35 && merged == 12 ? 0 : 1;
}
