// libuv: uv_fs_read, on its pool of threads, of which there are as many as reads at once.
#include "support/libuv_loop.hpp"
#include "w17/files.hpp"

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <latch>
#include <string>

namespace {

using bench::w17::block_bytes;

class libuv_files {
public:
    static constexpr const char* name = "libuv";
    using with_server = std::nullptr_t;

    explicit libuv_files(const bench::w17::plan& how)
        : fd_{bench::checked(
              ::open(how.path.c_str(), O_RDONLY | O_CLOEXEC | (how.past_cache ? O_DIRECT : 0)),
              "open")} {
        ::setenv("UV_THREADPOOL_SIZE", std::to_string(how.at_once).c_str(), 1);
        for (std::uint64_t i = 0; i != how.at_once; ++i) readers_.emplace_back(*this);
    }

    void read_all(bench::w17::reads& all) {
        std::latch ended{static_cast<std::ptrdiff_t>(readers_.size())};
        all_ = &all;
        ended_ = &ended;
        loop_.post([this] {
            for (reader& each : readers_) each.next();
        });
        ended.wait();
    }

private:
    struct reader {
        explicit reader(libuv_files& owner) : of{owner} { request.data = this; }

        void next() {
            if (!of.all_->take(block)) return of.ended_->count_down();
            const auto bytes = room.all();
            const uv_buf_t into = uv_buf_init(reinterpret_cast<char*>(bytes.data()),
                                              static_cast<unsigned>(bytes.size()));
            bench::check_uv(uv_fs_read(of.loop_.get(), &request, of.fd_.get(), &into, 1,
                                       static_cast<std::int64_t>(block * block_bytes), came),
                            "uv_fs_read");
        }
        static void came(uv_fs_t* request) {
            auto& self = *static_cast<reader*>(request->data);
            const bool right = request->result == block_bytes && self.room.has(self.block);
            uv_fs_req_cleanup(request);
            self.of.all_->came(right);
            self.next();
        }

        libuv_files& of;
        bench::w17::block_room room;
        std::uint64_t block = 0;
        uv_fs_t request{};
    };

    bench::unique_fd fd_;
    bench::w17::reads* all_ = nullptr;
    std::latch* ended_ = nullptr;
    std::deque<reader> readers_;
    bench::libuv_loop loop_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w17::main<libuv_files>(argc, argv); }
