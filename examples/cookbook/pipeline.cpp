// Pages are fetched, eight at a time, and written in the order in which they were asked for. The
// program has two jobs: the first ends well, the second asks for a page that does not exist.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

struct page {
    int number;
    std::string text;
};

// [stages]
fl::task<page> fetch(int number) {
    co_await fl::sleep_for((number * 7 % 5 + 1) * 1ms);  // the answers come in any order
    if (number == 40) throw std::runtime_error{"there is no page 40"};
    co_return page{number, "page " + std::to_string(number)};
}

page render(page raw) {
    raw.text = "<p>" + raw.text + "</p>";
    return raw;
}
// [/stages]

// [source]
// Stops asking when the pipeline does not take more.
fl::task<> ask(fl::pipeline<int, page>& pages, int count) {
    for (int number = 0; number != count; ++number) {
        const auto sent = co_await pages.send(int{number});
        if (!sent) co_return;
    }
    pages.close();
}
// [/source]

// [job]
// The pages in their order, until all are there or one has failed: then all pages before that one.
fl::task<std::vector<std::string>> job(fl::executor where, int count) {
    auto pages = fl::pipeline_from<int>(where)
                     .then(fetch, {.at_most = 8, .capacity = 8, .name = "fetch"})
                     .then(render, {.at_most = 2, .name = "render"})
                     .start();
    auto asks = fl::spawn(where, ask(pages, count), {.name = "ask"});
    std::vector<std::string> book;
    while (const auto next = co_await pages.receive()) book.push_back(next->text);
    co_await asks;
    if (const auto why = pages.failure()) {
        book.push_back("stopped");
        try {
            std::rethrow_exception(why);
        } catch (const std::exception& failure) {
            std::printf("after %zu pages: %s\n", book.size() - 1, failure.what());
        }
    }
    co_return book;
}
// [/job]

// [watch]
// Where the items are: a stage with a long queue in front is the slow one.
void print(const fl::pipeline<int, page>& pages) {
    for (const fl::stage_progress& each : pages.progress()) {
        std::printf("%-8s %3zu wait, %2zu run, %4llu done\n", each.name.c_str(), each.waiting,
                    each.in_flight, static_cast<unsigned long long>(each.out));
    }
}
// [/watch]

}  // namespace

int main() {
    fl::scheduler pool;
    const auto all = fl::block_on(pool, job(pool, 30));
    std::printf("%zu pages, the last is %s\n", all.size(), all.back().c_str());
    const auto some = fl::block_on(pool, job(pool, 100));

    // Nothing is received: the pages fill the pipeline, and then it takes no more.
    auto idle = fl::pipeline_from<int>(pool)
                    .then(fetch, {.at_most = 2, .capacity = 2, .name = "fetch"})
                    .then(render, {.capacity = 3, .name = "render"})
                    .start(1);
    int sent = 0;
    while (idle.try_send(int{sent})) ++sent;
    print(idle);
    idle.end();
    const auto over = idle.ended_blocking();
    const bool is_right = all.size() == 30 && all[29] == "<p>page 29</p>" && some.size() == 41 &&
                          some.back() == "stopped" && over.has_value();
    return is_right ? 0 : 1;
}
