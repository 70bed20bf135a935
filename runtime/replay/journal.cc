#include "runtime/replay/journal.h"

#include "tables/value/json.h"
#include "tables/value/json_reader.h"

namespace freshet {

Journal::Line::Line(std::string& out, std::string_view what, std::string_view name, WallTime at) : out_(out) {
  out_ += "{\"at\":\"" + iso8601(at) + '"';
  text(what, name);
}

std::string& Journal::Line::member(std::string_view name) {
  out_ += ',';
  append_json_string(out_, name);
  return out_ += ':';
}

Journal::Line& Journal::Line::text(std::string_view name, std::string_view value) {
  append_json_string(member(name), value);
  return *this;
}

Journal::Line& Journal::Line::number(std::string_view name, int64_t value) {
  member(name) += std::to_string(value);
  return *this;
}

Journal::Line& Journal::Line::item(std::string_view name, const Item& item) {
  append_item_json(member(name), item);
  return *this;
}

Journal::Line& Journal::Line::json(std::string_view name, std::string_view value) {
  JsonDocument document;
  if (value.find('\n') != value.npos || !document.parse(value)) return text(name, value);
  member(name) += value;
  return *this;
}

void Journal::write(LogLevel, std::string_view line) {
  text_ += "{\"at\":\"" + iso8601(clock_.wall()) + "\",\"log\":" + std::string(line) + "}\n";
}

}  // namespace freshet
