// complaint: its type says that they must
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

// Its const member changes it, without a lock.
struct counted_reads {
    int read() const { return ++reads; }
    mutable int reads = 0;
};
template <>
inline constexpr bool fl::may_be_read_together<counted_reads> = false;

void shares(fl::broadcast<counted_reads>& of);
void shares(fl::broadcast<counted_reads>& of) { of.try_send(counted_reads{}); }
