// A bare loop with poll around libpq in pipeline mode: the floor of fairlead::postgres. Each
// request is a transaction of its own, as there.
#include "w19/requests.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace {

using bench::w19::require;

class selects {
public:
    selects(const bench::w19::postgres_server& server, const bench::options& asked)
        : asked_{asked} {
        for (std::uint64_t i = 0; i != asked.connections; ++i) {
            connection& made = connections_.emplace_back();
            made.by.reset(::PQconnectdb(server.conninfo().c_str()));
            PGconn* const by = made.by.get();
            require(::PQstatus(by) == CONNECTION_OK, "no connection");
            ::PQclear(::PQprepare(by, "page", bench::w19::query.data(), 1, nullptr));
            require(::PQsetnonblocking(by, 1) == 0, "it blocks");
            require(::PQenterPipelineMode(by) == 1, "no pipeline");
            polled_.push_back({.fd = ::PQsocket(by), .events = POLLIN, .revents = 0});
        }
    }

    void run(std::uint64_t count) {
        to_send_ = count;
        to_come_ = count;
        for (std::size_t i = 0; i != connections_.size(); ++i) send(i);
        while (to_come_ != 0) {
            bench::checked(::poll(polled_.data(), polled_.size(), -1), "poll");
            for (std::size_t i = 0; i != polled_.size(); ++i) {
                if (polled_[i].revents == 0) continue;
                receive(connections_[i]);
                send(i);
            }
        }
    }

private:
    struct ends {
        void operator()(PGconn* what) const { ::PQfinish(what); }
        void operator()(PGresult* what) const { ::PQclear(what); }
    };
    struct connection {
        std::unique_ptr<PGconn, ends> by;
        std::uint64_t in_flight = 0;
    };

    void send(std::size_t number) {
        connection& to = connections_[number];
        for (; to.in_flight != asked_.in_flight && to_send_ != 0; ++to.in_flight, --to_send_) {
            next_ = next_ % bench::w19::rows + 1;
            const std::string id = std::to_string(next_);
            const std::array<const char*, 1> values{id.c_str()};
            require(::PQsendQueryPrepared(to.by.get(), "page", 1, values.data(), nullptr, nullptr,
                                          0) == 1 &&
                        ::PQpipelineSync(to.by.get()) == 1,
                    "nothing is sent");
        }
        const int left = ::PQflush(to.by.get());
        require(left >= 0, "nothing is sent");
        polled_[number].events = static_cast<short>(left == 0 ? POLLIN : POLLIN | POLLOUT);
    }

    void receive(connection& from) {
        require(::PQconsumeInput(from.by.get()) == 1, "the connection has ended");
        while (from.in_flight != 0 && ::PQisBusy(from.by.get()) == 0) {
            const std::unique_ptr<PGresult, ends> got{::PQgetResult(from.by.get())};
            if (got == nullptr) continue;  // the end of one statement
            if (::PQresultStatus(got.get()) == PGRES_PIPELINE_SYNC) {
                --from.in_flight;
                --to_come_;
                continue;
            }
            require(::PQresultStatus(got.get()) == PGRES_TUPLES_OK && ::PQntuples(got.get()) == 1,
                    "no row");
            const std::string_view body{::PQgetvalue(got.get(), 0, 0),
                                        static_cast<std::size_t>(::PQgetlength(got.get(), 0, 0))};
            require(body.size() == asked_.size && body.back() == 'x', "another row");
        }
    }

    const bench::options asked_;
    std::vector<connection> connections_;
    std::vector<pollfd> polled_;
    std::uint64_t to_send_ = 0;
    std::uint64_t to_come_ = 0;
    int next_ = 0;
};

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.name != "select" || asked.workers != 1) return std::nullopt;
    return bench::w19::measure_requests<bench::w19::postgres_server, selects>(asked);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W19", "libpq", measure); }
