#include <fairlead/http/errc.hpp>
#include <fairlead/http/handler.hpp>

#include <utility>

namespace fairlead::http {

response response::text(int status, std::string body, std::string_view type) {
    response answer;
    answer.status = status;
    answer.body = std::move(body);
    answer.fields.add("Content-Type", type);
    return answer;
}

response response::refusing(const std::error_code& error) {
    const bool told = error.category() == category() || error == std::errc::timed_out;
    response answer =
        text(status_for(error), told ? error.message() + '\n' : std::string{"no answer\n"});
    answer.close = true;
    return answer;
}

}  // namespace fairlead::http
