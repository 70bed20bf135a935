// Computes from change records how the numbers of items per value of one attribute change. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// The label under which an item counts: the text of the attribute if it is a string, number or bool; kNoState if the
// item has none or null; kOtherState for other types and texts beyond kMaxLabel. In a text '%', '#' and a leading '('
// are written as %25, %23 and %28, so that no value looks like another or like one of the constants.
std::string state_label(const ItemRef& item, std::string_view attribute);
inline constexpr std::string_view kNoState = "(none)";
inline constexpr std::string_view kOtherState = "(other)";
inline constexpr size_t kMaxLabel = 480;  // Two of them fit into a sort key.

// The beginning or end of a move outside of the table.
inline constexpr std::string_view kCreated = "(created)";
inline constexpr std::string_view kRemoved = "(removed)";
inline constexpr std::string_view kExpired = "(expired)";  // Removed by TTL.

struct StateChanges {
  std::map<std::string, int64_t> items;                           // By label; zeros have no entry.
  std::map<std::pair<std::string, std::string>, uint64_t> moves;  // From and to.

  // kValidation for a record without the images that its kind has.
  Result<void> add(const ChangeRecord& record, std::string_view attribute);
  // The same for an item that counts as `counted` now, whatever the old image says; empty: it does not count. Sets
  // `counted` to what it counts as with this record.
  Result<void> add_to(std::optional<std::string>& counted, const ChangeRecord& record, std::string_view attribute);
  // Adds only the move.
  Result<void> add_move(const ChangeRecord& record, std::string_view attribute);
  size_t size() const { return items.size() + moves.size(); }
};
// The most entries that one record can add.
inline constexpr size_t kChangesOfRecord = 3;

}  // namespace freshet
