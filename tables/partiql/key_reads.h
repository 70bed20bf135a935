// Which parts of a table or index a SELECT reads: its WHERE taken apart by the keys, as the service does it. Each value
// of the partition key (= or IN, in every branch of an OR) makes a read of its own, narrowed by what the branch says of
// the sort key; all else is filter. Without a value for the partition key in every branch it is a scan.
#pragma once

#include <optional>
#include <vector>

#include "tables/definition.h"
#include "tables/partiql/statement.h"

namespace freshet::partiql {

// A condition on the sort key, the key on its left.
struct SortTest {
  expression::Operator op = expression::Operator::kEqual;  // kFunction is begins_with.
  uint32_t first = 0;                                      // Slots.
  uint32_t second = 0;                                     // Of kBetween.
};

struct KeyRead {
  uint32_t partition = 0;  // Slot.
  std::optional<SortTest> sort;
  std::vector<const expression::Condition*> filter;  // Into the statement; all of them hold.
};

inline constexpr size_t kMaxKeyReads = 50;

// Empty optional for a scan. The reads are sorted by partition and sort key and do not overlap: overlapping branches of
// one partition key become one read of all of it, filtered by the whole WHERE. kValidation for too many reads. Values
// may have other types than the keys; see check_key_types().
Result<std::optional<std::vector<KeyRead>>> key_reads(const Statement& statement, const KeySchema& keys);

// Refuses reads by values of other types than the keys have.
Result<void> check_key_types(const std::vector<KeyRead>& reads, const Statement& statement, const KeySchema& keys);

// The slot of the value that a condition says `attribute` equals, with `=`; none if it says something else.
std::optional<uint32_t> equality_on(const expression::Condition& condition, std::string_view attribute);

}  // namespace freshet::partiql
