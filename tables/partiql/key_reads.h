// Finds the parts of a table or index that a SELECT reads: it takes the WHERE apart by the keys, as the service does.
// Each value of the partition key (= or IN, in every branch of an OR) becomes a read of its own, narrowed by the
// branch's conditions on the sort key; everything else is the filter. If a branch has no value for the partition key,
// the SELECT is a scan.
#pragma once

#include <optional>
#include <vector>

#include "tables/definition.h"
#include "tables/partiql/statement.h"

namespace freshet::partiql {

// A condition on the sort key, the key on its left.
struct SortTest {
  expression::Operator op = expression::Operator::kEqual;  // kFunction means begins_with.
  uint32_t first = 0;                                      // A slot.
  uint32_t second = 0;                                     // A slot, for kBetween.
};

struct KeyRead {
  uint32_t partition = 0;  // A slot.
  std::optional<SortTest> sort;
  std::vector<const expression::Condition*> filter;  // Point into the statement; all of them must hold.
};

inline constexpr size_t kMaxKeyReads = 50;

// Empty optional for a scan. The reads are sorted by partition and sort key and do not overlap: overlapping branches of
// one partition key become one read of all of it, filtered by the whole WHERE. kValidation for too many reads. Values
// may have other types than the keys; see check_key_types().
Result<std::optional<std::vector<KeyRead>>> key_reads(const Statement& statement, const KeySchema& keys);

// Refuses reads whose values have other types than the keys.
Result<void> check_key_types(const std::vector<KeyRead>& reads, const Statement& statement, const KeySchema& keys);

// The slot of the value that the condition compares `attribute` with, by `=`; empty for any other condition.
std::optional<uint32_t> equality_on(const expression::Condition& condition, std::string_view attribute);

}  // namespace freshet::partiql
