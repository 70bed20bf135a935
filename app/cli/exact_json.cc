#include "app/cli/exact_json.h"

#include <utility>
#include <vector>

#include "base/plain_text.h"

namespace freshet::cli {

namespace {

constexpr size_t kMostLevels = 200;

// The digits that count, without point, exponent and zeros at either end.
std::string digits_of(const std::string& number) {
  std::string digits;
  for (const char c : number.substr(0, number.find_first_of("eE"))) {
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (digits_of(text) == digits_of(Json(value).dump())) return add(value);
    return add(Json::binary(binary_t::container_type(text.begin(), text.end())));
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(Json::object()); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return begin(Json::array()); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_object()) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool begin(Json value) {
    if (open_.size() == kMostLevels) return false;
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // The last element of each one's parent, which gets another one only when it is closed.
  std::string key_;          // The next value's key.
};

void append_line(std::string& out, int indent, size_t level) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * level, ' ');
}

void append(std::string& out, const Json& json, int indent, size_t level) {
  if (json.is_binary()) {
    out.append(json.get_binary().begin(), json.get_binary().end());
    return;
  }
  if (!json.is_structured() || json.empty()) {
    out += plain_json(json.dump());
    return;
  }
  const bool object = json.is_object();
  out += object ? '{' : '[';
  bool first = true;
  for (const auto& [name, value] : json.items()) {
    if (!std::exchange(first, false)) out += ',';
    append_line(out, indent, level + 1);
    if (object) out += plain_json(Json(name).dump()) + (indent < 0 ? ":" : ": ");
    append(out, value, indent, level + 1);
  }
  append_line(out, indent, level);
  out += object ? '}' : ']';
}

}  // namespace

Json parse_exact(std::string_view text) {
  Builder builder;
  if (Json::sax_parse(text, &builder)) return builder.take();
  return Json(Json::value_t::discarded);
}

std::string text_of(const Json& document, int indent) {
  std::string out;
  append(out, document, indent, 0);
  return out;
}

Result<Json> read_argument(const std::string& what, const std::string& text) {
  Json value = parse_exact(text);
  if (value.is_discarded())
    return fail(ErrorCode::kValidation, what + " is not JSON in UTF-8: names and texts stand in double quotes, and " +
                                            "the shell wants single ones around all of it, as in '{\"id\": \"a\"}'");
  return value;
}

}  // namespace freshet::cli
