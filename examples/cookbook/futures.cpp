// Futures: calls that run in a pool, continuations, failures of a type of one's own, a promise.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fl = fairlead;

// [failure]
// The failure type of the program, and what becomes of exceptions and broken promises.
struct failure {
    int code;
    std::string text;
};

template <>
struct fl::failure_traits<failure> {
    static failure from(std::exception_ptr thrown) noexcept {
        try {
            std::rethrow_exception(std::move(thrown));
        } catch (const std::exception& error) {
            return {1, error.what()};
        } catch (...) {
            return {1, "unknown"};
        }
    }
    static failure from(fl::wait_error why) noexcept {
        return {2, why == fl::wait_error::stopped ? "stopped" : "no answer"};
    }
};

template <class T>
using outcome = fl::future<T, failure>;
// [/failure]

namespace {

// [runner]
// The runner of the program: the one place that says which failure type and which pool.
class runner {
public:
    explicit runner(fl::executor pool) : pool_{pool} {}

    template <class... Call>
    auto operator()(Call&&... call) const {
        return fl::run<failure>(pool_, std::forward<Call>(call)...);
    }

private:
    fl::executor pool_;
};
// [/runner]

// [chain]
int parse(const std::string& text) { return std::stoi(text); }  // throws

outcome<std::string> report(const runner& in_pool, std::string text) {
    return in_pool(parse, std::move(text))
        .filter([](int value) { return value >= 0; }, {3, "negative"})
        .and_then([in_pool](int value) { return in_pool([value] { return 2 * value; }); })
        .map([](int value) { return std::to_string(value); })
        .on_failure([](const failure& why) { std::printf("failed: %s\n", why.text.c_str()); });
}
// [/chain]

// [callback]
// A library that answers by a callback, here at once.
template <class Callback>
void ask(int question, Callback callback) {
    callback(question + 1);
}

outcome<int> answer_of(int question) {
    auto [promise, future] = fl::make_promise<int, failure>();
    ask(question, [p = std::move(promise)](int answer) mutable { p.set(answer); });
    return std::move(future);
}
// [/callback]

// [tasks]
fl::task<int> sum(const runner& in_pool) {
    auto both = fl::zip(in_pool(parse, "20"), answer_of(21));
    const auto values = co_await std::move(both);  // std::expected<std::tuple<int, int>, failure>
    if (!values) co_return -1;
    co_return std::get<0>(*values) + std::get<1>(*values);
}
// [/tasks]

// [several]
int total(const runner& in_pool) {
    std::vector<outcome<int>> all;
    for (const char* const text : {"1", "two", "3"}) all.push_back(in_pool(parse, text));
    const auto results = fl::sequence_settled(std::move(all)).get();
    int sum = 0;
    for (const auto& each : *results) {
        if (each) sum += *each;
    }
    return sum;
}
// [/several]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    fl::group pool{scheduler, {.name = "parsers", .max_concurrency = 1}};
    const runner in_pool{pool};

    const auto good = report(in_pool, "21").get();
    const auto bad = report(in_pool, "-1").get();
    const int added = fl::block_on(scheduler, sum(in_pool));
    const int some = total(in_pool);
    std::printf("%s, %d, %d, %d\n", good->c_str(), bad.error().code, added, some);
    return *good == "42" && bad.error().code == 3 && added == 42 && some == 4 ? 0 : 1;
}
