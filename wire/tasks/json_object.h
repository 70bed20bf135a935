// Writes one JSON object, a member at a time. I/O threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tables/value/json.h"

namespace freshet {

// Appends to `out`, which outlives it; the destructor closes the object.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  std::string& raw(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { append_json_string(raw(name), value); }
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  template <class Number>
  void number(std::string_view name, Number value) {
    raw(name) += std::to_string(value);
  }
  void flag(std::string_view name, bool value) { raw(name) += value ? "true" : "false"; }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    raw(name) += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ',';
      append_json_string(out_, values[i]);
    }
    out_ += ']';
  }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace freshet
