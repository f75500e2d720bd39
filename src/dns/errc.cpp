#include <fairlead/dns/errc.hpp>

#include <string>

namespace fairlead::dns {
namespace {

class dns_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "dns"; }
    [[nodiscard]] std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::not_found:
                return "the name does not exist";
            case errc::no_data:
                return "the name has no address";
            case errc::server_failed:
                return "the name servers have failed";
            case errc::refused:
                return "the name servers refuse to answer";
            case errc::no_answer:
                return "no name server has answered";
            case errc::bad_answer:
                return "the answer of the name server cannot be read";
            case errc::bad_name:
                return "this is no name of a host";
            case errc::too_many:
                return "too many names are being looked up";
            case errc::closed:
                return "the resolver was destroyed";
        }
        return "unknown error of names";
    }
};

}  // namespace

const std::error_category& category() noexcept {
    static const dns_category only;
    return only;
}

}  // namespace fairlead::dns
