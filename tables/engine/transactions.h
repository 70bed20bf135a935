// Transactions. All actions are planned against one state, and their changes are one mutation, so they are in one batch
// of the log or not at all. Tokens keep a repeated request from being carried out twice; they are items of a system
// table, written in the same mutation. Loop thread only.
#pragma once

#include "base/random.h"
#include "base/wall_guard.h"
#include "tables/engine/committer.h"
#include "tables/engine/plan.h"

namespace freshet {

// docs/formats.md, "System tables". Created with the first token.
inline constexpr std::string_view kTokenTable = "freshet.tokens";
inline constexpr seconds kTokenWindow{600};

class Transactions {
 public:
  // All references outlive this.
  Transactions(const Clock& clock, WallGuard& guard, Random& random, Catalog& catalog, Committer& committer,
               ExpressionCache& cache)
      : clock_(clock), guard_(guard), random_(random), catalog_(catalog), committer_(committer), cache_(cache) {}

  // See Tables::transact_write() and transact_get(). Inputs may be emptied.
  Result<TransactWriteOutput> write(TransactWriteInput& input);
  Result<std::vector<ReadOutput>> read(const std::vector<GetItemInput>& inputs);

 private:
  enum class Seen { kNever, kSame, kOther };
  Seen look_up(const std::string& token, const std::string& request);
  Result<TransactWriteOutput> carry_out(TransactWriteInput& input, const std::string& request);
  Table* token_table() const;  // Null until the table is created.
  Table& make_token_table();
  Change token_change(Table& table, const std::string& token, const std::string& request) const;

  const Clock& clock_;
  WallGuard& guard_;
  Random& random_;
  Catalog& catalog_;
  Committer& committer_;
  ExpressionCache& cache_;
};

}  // namespace freshet
