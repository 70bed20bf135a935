#include "runtime/api/ordered_writes.h"

namespace freshet {

std::string_view code_name(OrderedCode code) {
  switch (code) {
    case OrderedCode::kApplied:
      return "APPLIED";
    case OrderedCode::kOlder:
      return "OLDER";
    case OrderedCode::kTooOld:
      return "TOO_OLD";
    case OrderedCode::kTooFarAhead:
      return "TOO_FAR_AHEAD";
    case OrderedCode::kInvalid:
      return "INVALID";
    case OrderedCode::kForeignItem:
      return "FOREIGN_ITEM";
    case OrderedCode::kStoreError:
      break;
  }
  return "STORE_ERROR";
}

}  // namespace freshet
