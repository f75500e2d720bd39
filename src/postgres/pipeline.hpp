// What is sent on a connection in pipeline mode, and what comes back; without waiting. Of one
// task.
//
//     send: [Parse] Bind Describe Execute ... Sync     a batch
//     next: results ... ReadyForQuery                  its end
//
// 1. Each batch ends with a Sync of its own: so it is one transaction, and its error aborts only
//    what is behind it in the same batch.
// 2. The ends come in the order of the batches. A batch has ended when its ReadyForQuery has come,
//    not before: until then the server may refuse it, as with constraints that are checked late.
#pragma once

#include "postgres/answer.hpp"
#include "postgres/batch.hpp"
#include "postgres/flow.hpp"
#include "postgres/link.hpp"
#include "postgres/statement_cache.hpp"

#include <fairlead/postgres/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::postgres::detail {

/// How a batch has ended.
struct batch_end {
    row_sets all;                  // of each statement, if there is no failure
    std::optional<error> failure;  // the first one
    /// A prepared statement did not fit any more, and was forgotten: it fits when it is sent again.
    bool is_stale = false;
};

class pipeline {
public:
    /// `statements_max`: 0: nothing is prepared.
    pipeline(link& over, std::size_t statements_max);

    /// Sends a batch of at least one statement. False: the connection is lost. `may_evict`: the
    /// connection is in no transaction, so that it can forget a prepared statement; sent
    /// as a batch before. `into`: null, or where the rows of the only statement, which is not
    /// prepared, go one by one; its end is told by `next`.
    [[nodiscard]] bool send(std::span<const statement> batch, bool may_evict,
                            std::shared_ptr<flow> into = nullptr);
    /// Sends a batch of which the end is not told, nor its failure.
    [[nodiscard]] bool send_own(const std::string& sql);
    /// The end of the oldest batch, if that has come. False: the connection is lost, see `loss`.
    [[nodiscard]] bool next(std::optional<batch_end>& into);

    /// Whether no batch is under way.
    [[nodiscard]] bool is_empty() const noexcept { return batches_.empty(); }
    /// Whether the rows of the oldest batch wait for their reader: nothing more is to be read.
    [[nodiscard]] bool is_paused() const noexcept {
        return !batches_.empty() && batches_.front().into != nullptr &&
               !batches_.front().into->may_push();
    }
    /// Whether nothing is under way, and the server is in no transaction.
    [[nodiscard]] bool is_idle() const noexcept;
    /// Whether nothing is under way, and the server is in a transaction.
    [[nodiscard]] bool is_in_transaction() const noexcept { return batches_.empty() && !is_idle(); }
    /// Why the connection is lost.
    [[nodiscard]] const error& loss() const noexcept { return *loss_; }
    [[nodiscard]] std::uint64_t prepared() const noexcept { return prepared_; }

private:
    // What a result of the server is for.
    struct step {
        statement_cache::entry prepares;  // null: it executes
        statement_cache::entry uses;      // null: the statement is not prepared
    };
    struct batch {
        recycled_vector<step> steps;
        std::size_t done = 0;
        bool is_own = false;  // its end is not told
        std::shared_ptr<flow> into;
        batch_end end;
    };

    [[nodiscard]] bool send(const statement& what, bool may_evict, batch& of);
    [[nodiscard]] bool send_unprepared(const statement& what);
    [[nodiscard]] bool take(answer got);
    void take_failure(batch& of, const PGresult& said);
    void set_loss(error why);

    link& link_;
    statement_cache cache_;
    const bool prepares_;
    std::deque<batch, sync::recycling_allocator<batch>> batches_;
    std::optional<error> loss_;
    std::uint64_t prepared_ = 0;

    // Of the parameters of a statement, in the form of the library.
    std::vector<const char*> values_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace fairlead::postgres::detail
