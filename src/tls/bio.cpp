#include "tls/bio.hpp"

#include <new>

namespace fairlead::io::detail {

BIO* tls_bio::make(tls_engine& of) noexcept {
    BIO_METHOD* const how = method();
    BIO* const made = how != nullptr ? BIO_new(how) : nullptr;
    if (made == nullptr) return nullptr;
    BIO_set_data(made, &of);
    BIO_set_init(made, 1);
    return made;
}

BIO_METHOD* tls_bio::method() noexcept {
    // Never freed: connections may end after the static objects of the program.
    static BIO_METHOD* const the_method = [] {
        BIO_METHOD* const made =
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "fairlead");
        if (made == nullptr) return made;
        BIO_meth_set_read_ex(made, &tls_bio::read);
        BIO_meth_set_write_ex(made, &tls_bio::write);
        BIO_meth_set_ctrl(made, &tls_bio::control);
        return made;
    }();
    return the_method;
}

int tls_bio::read(BIO* bio, char* to, std::size_t size, std::size_t* count) noexcept {
    auto& engine = *static_cast<tls_engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *count = engine.input_.take(std::as_writable_bytes(std::span{to, size}));
    if (*count != 0) return 1;
    // Also at the end of the stream below: the end is the stream's to tell, not OpenSSL's.
    BIO_set_retry_read(bio);
    return 0;
}

int tls_bio::write(BIO* bio, const char* from, std::size_t size, std::size_t* count) noexcept {
    auto& engine = *static_cast<tls_engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    try {
        engine.output_.append(std::as_bytes(std::span{from, size}));
    } catch (const std::bad_alloc&) {
        engine.out_of_memory_ = true;
        *count = 0;
        return 0;
    }
    *count = size;
    return 1;
}

long tls_bio::control(BIO*, int command, long, void*) noexcept {
    return command == BIO_CTRL_FLUSH ? 1 : 0;  // everything is flushed at once
}

}  // namespace fairlead::io::detail
