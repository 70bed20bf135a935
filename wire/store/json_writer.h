// Writes one JSON object, member by member. Empty members are left out, as the protocol requires.
#pragma once

#include <string>
#include <string_view>

#include "tables/value/json.h"

namespace freshet::remote {

class JsonWriter {
 public:
  // Appends to `out`, which must outlive the writer. The destructor closes the JSON object.
  explicit JsonWriter(std::string& out) : out_(out) { out_ += '{'; }
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;
  ~JsonWriter() { out_ += '}'; }

  // Begins a member: the caller appends its value.
  std::string& member(std::string_view name) {
    if (!out_.ends_with('{')) out_ += ',';
    append_json_string(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) append_json_string(member(name), value);
  }
  void flag(std::string_view name, bool value) {
    if (value) member(name) += "true";
  }
  void number(std::string_view name, uint64_t value) {
    if (value > 0) member(name) += std::to_string(value);
  }
  void item(std::string_view name, const Item& value) {
    if (!value.empty()) append_item_json(member(name), value);
  }

 private:
  std::string& out_;
};

}  // namespace freshet::remote
