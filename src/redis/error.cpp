#include <fairlead/redis/error.hpp>

#include <array>
#include <string_view>

namespace fairlead::redis {
namespace {

struct described {
    errc code;
    std::string_view word;  // of the server; empty: of this end
    std::string_view text;
};

constexpr std::array table{
    described{errc::protocol, "", "the bytes are no reply of Redis"},
    described{errc::too_large, "", "a reply is beyond a limit"},
    described{errc::connection_lost, "", "the connection has ended"},
    described{errc::stalled, "", "the server has stopped replying"},
    described{errc::queue_full, "", "too many commands wait"},
    described{errc::closed, "", "the client was closed"},
    described{errc::not_shared, "", "the command needs a connection of its own"},
    described{errc::messages_lost, "", "messages were lost"},
    described{errc::aborted, "", "a watched key has changed"},
    described{errc::wrong_type_of_reply, "", "the reply has another type than expected"},
    described{errc::server, "ERR", "the server refuses the command"},
    described{errc::loading, "LOADING", "the server is loading its data"},
    described{errc::read_only, "READONLY", "the server is a replica and takes no writes"},
    described{errc::moved, "MOVED", "another node has the slot of the key"},
    described{errc::ask, "ASK", "the slot of the key moves to another node"},
    described{errc::no_auth, "NOAUTH", "the connection is not authenticated"},
    described{errc::wrong_pass, "WRONGPASS", "the user or the password is wrong"},
    described{errc::no_permission, "NOPERM", "the user has no permission"},
    described{errc::wrong_type, "WRONGTYPE", "the key has a value of another type"},
    described{errc::no_script, "NOSCRIPT", "the server does not know the script"},
    described{errc::busy, "BUSY", "the server is busy with a script"},
    described{errc::out_of_memory, "OOM", "the server has reached its limit of memory"},
    described{errc::exec_abort, "EXECABORT", "a command of the transaction was refused"},
    described{errc::try_again, "TRYAGAIN", "the keys are spread over two nodes"},
    described{errc::cluster_down, "CLUSTERDOWN", "the cluster does not serve"},
    described{errc::master_down, "MASTERDOWN", "the replica has lost its master"},
    described{errc::misconfigured, "MISCONF", "the server cannot save its data"},
    described{errc::no_replicas, "NOREPLICAS", "too few replicas for a write"},
    described{errc::no_protocol, "NOPROTO", "the server does not speak this version of RESP"},
};

class redis_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "redis"; }
    [[nodiscard]] std::string message(int value) const override {
        for (const described& each : table) {
            if (static_cast<int>(each.code) == value) return std::string{each.text};
        }
        return "unknown error of Redis";
    }
};

}  // namespace

const std::error_category& category() noexcept {
    static const redis_category only;
    return only;
}

error error::of_server(std::string text) {
    const std::string_view word = std::string_view{text}.substr(0, text.find(' '));
    errc code = errc::server;
    for (const described& each : table) {
        if (!each.word.empty() && each.word == word) code = each.code;
    }
    error made{code, true};
    made.text_ = std::make_shared<const std::string>(std::move(text));
    return made;
}

}  // namespace fairlead::redis
