// A journal and a snapshot: files that survive a crash, and that keep no worker.
#include <fairlead/fairlead.hpp>

#include <cstdint>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;

namespace {

using durable = std::expected<void, std::error_code>;

// [journal]
// Lines at the end of a file. An append ends when its line is durable; lines that come while a sync
// is under way share the next sync.
class journal {
public:
    explicit journal(io::file file) : file_{std::move(file)} {}

    fl::task<durable> append(std::string line) {
        auto both = fl::make_promise<durable>();
        entry next{std::move(line), std::move(both.promise)};
        static_cast<void>(co_await lines_.send(std::move(next)));
        co_return co_await std::move(both.future);
    }

    // The only task that writes. It ends after `close`, when all lines are durable.
    fl::task<> write() {
        std::vector<entry> some(100);
        std::uint64_t end = 0;
        while (const auto count = co_await lines_.receive_many(some)) {
            std::string text;
            for (const entry& each : std::span{some}.first(*count)) text += each.line + '\n';
            durable done = co_await file_.write_at(std::as_bytes(std::span{text}), end);
            if (done) done = co_await file_.sync();
            if (done) end += text.size();
            ++syncs_;
            for (entry& each : std::span{some}.first(*count)) each.answer.set(done);
        }
    }

    void close() { lines_.close(); }

    [[nodiscard]] int syncs() const noexcept { return syncs_; }

private:
    struct entry {
        std::string line;
        fl::promise<durable> answer;
    };

    io::file file_;
    fl::channel<entry> lines_{1'000};
    int syncs_ = 0;
};
// [/journal]

fl::task<bool> keeps_a_journal(fl::scheduler& home, std::string path) {
    const io::open_options empty{.use = io::file_use::write, .create = true, .truncate = true};
    auto file = co_await io::file::open(path, empty);
    if (!file) co_return false;
    journal lines{std::move(*file)};
    auto writer = fl::spawn(home, lines.write());
    constexpr int count = 500;
    int durable_lines = 0;
    const auto appends = [&](int number) -> fl::task<> {
        const durable done = co_await lines.append("line " + std::to_string(number));
        durable_lines += done ? 1 : 0;
    };
    co_await fl::with_scope([&](fl::scope& tasks) -> fl::task<> {
        for (int i = 0; i != count; ++i) tasks.spawn(appends(i));
        co_return;
    });
    lines.close();
    co_await writer;
    // [read]
    const auto text = co_await io::read_file(path, 1 << 20);  // at most 1 MiB
    // [/read]
    std::printf("%d lines are durable after %d syncs\n", durable_lines, lines.syncs());
    if (!text || std::ranges::count(*text, '\n') != count) co_return false;
    co_return durable_lines == count&& lines.syncs() < count;
}

fl::task<bool> keeps_a_snapshot(std::string path) {
    // [replace]
    const auto first = co_await io::replace_file(path, R"({"volume": 3})");
    const auto second = co_await io::replace_file(path, R"({"volume": 4})");
    // [/replace]
    const auto now = co_await io::read_file(path, 1'000);
    if (!first || !second) co_return false;
    co_return now == R"({"volume": 4})";
}

}  // namespace

int main() {
    const std::filesystem::path folder = "files_example";
    std::filesystem::create_directory(folder);
    fl::scheduler scheduler{{.workers = 1}};
    const bool journal_kept =
        fl::block_on(scheduler, keeps_a_journal(scheduler, folder / "journal"));
    const bool snapshot_kept = fl::block_on(scheduler, keeps_a_snapshot(folder / "settings.json"));
    std::filesystem::remove_all(folder);
    return journal_kept && snapshot_kept ? 0 : 1;
}
