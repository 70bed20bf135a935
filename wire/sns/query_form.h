// The query protocol's parameters: a form-encoded body, or the query of a GET.
//
// Lists and maps have numbered names: "Tags.member.2.Key". A value type; no state beside its fields.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace freshet::sns {

inline constexpr size_t kMaxFields = 2'000;

class QueryForm {
 public:
  // kValidation for a broken percent sequence, text that is not UTF-8, a repeated name, more than kMaxFields.
  static Result<QueryForm> parse(std::string_view encoded);

  const std::string* find(std::string_view name) const;  // Null if absent. Valid as long as the form.
  std::string text(std::string_view name) const;         // "" if absent.
  // The prefixes of a list's entries, "Tags.member.2", in the order of their numbers. "Tags.member" is the list's own
  // prefix.
  std::vector<std::string> entries(std::string_view list) const;

 private:
  std::map<std::string, std::string, std::less<>> fields_;
};

}  // namespace freshet::sns
