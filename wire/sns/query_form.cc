#include "wire/sns/query_form.h"

#include <charconv>
#include <set>

#include "tables/value/text.h"
#include "wire/http/target.h"

namespace freshet::sns {

Result<QueryForm> QueryForm::parse(std::string_view encoded) {
  QueryForm form;
  while (!encoded.empty()) {
    const size_t end = encoded.find('&');
    const std::string_view field = encoded.substr(0, end);
    encoded = end == std::string_view::npos ? std::string_view{} : encoded.substr(end + 1);
    if (field.empty()) continue;
    const size_t equals = field.find('=');
    auto name = form_decode(field.substr(0, equals));
    auto value = form_decode(equals == std::string_view::npos ? std::string_view{} : field.substr(equals + 1));
    if (!name || !value) return invalid("A parameter has a broken % sequence");
    if (!is_utf8(*name) || !is_utf8(*value)) return invalid("A parameter is not valid UTF-8");
    if (form.fields_.size() == kMaxFields) {
      return invalid("More than " + std::to_string(kMaxFields) + " parameters");
    }
    const auto [at, is_new] = form.fields_.try_emplace(std::move(*name), std::move(*value));
    if (!is_new) return invalid("The parameter " + at->first.substr(0, 100) + " is given twice");
  }
  return form;
}

const std::string* QueryForm::find(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

std::string QueryForm::text(std::string_view name) const {
  const std::string* value = find(name);
  return value ? *value : std::string();
}

std::vector<std::string> QueryForm::entries(std::string_view list) const {
  const std::string before = std::string(list) + '.';
  std::set<unsigned> numbers;
  for (auto at = fields_.lower_bound(before); at != fields_.end() && at->first.starts_with(before); ++at) {
    const std::string_view rest = std::string_view(at->first).substr(before.size());
    unsigned number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc{} && (end == rest.data() + rest.size() || *end == '.')) numbers.insert(number);
  }
  std::vector<std::string> prefixes;
  for (const unsigned number : numbers) prefixes.push_back(before + std::to_string(number));
  return prefixes;
}

}  // namespace freshet::sns
