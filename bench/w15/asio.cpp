// Boost.Asio: closures of both tenants in one queue.
#include "support/asio_context.hpp"
#include "w15/noisy.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace {

class asio_tenants {
public:
    static constexpr const char* name = "asio";

    explicit asio_tenants(std::uint64_t workers) : context_{workers} {}

    template <class Request>
    void post_request(Request request) {
        boost::asio::post(context_.get(), std::move(request));
    }

    void spawn_noise(bench::w11::load& noise) {
        boost::asio::post(context_.get(), [this, &noise] {
            if (noise.step()) {
                spawn_noise(noise);
            } else {
                noise.leave();
            }
        });
    }

private:
    bench::asio_context context_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w15::main<asio_tenants>(argc, argv); }
