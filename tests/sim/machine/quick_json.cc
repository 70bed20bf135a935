#include "tests/sim/machine/quick_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace freshet::sim {
namespace {

using nlohmann::json;

// The highest bit of each byte that is below `least`, for bytes below 0x80 (Bit Twiddling Hacks, "hasless").
constexpr uint64_t below(uint64_t word, uint64_t least) {
  return (word - 0x0101010101010101 * least) & ~word & 0x8080808080808080;
}
constexpr uint64_t equal(uint64_t word, unsigned char byte) {
  return below(word ^ (0x0101010101010101 * byte), 1);
}

constexpr uint64_t marks_of(uint64_t word) {
  return below(word, 0x20) | equal(word, '"') | equal(word, '\\') | equal(word, 0x7f) | (word & 0x8080808080808080);
}

// True if JSON has the text as it is. Takes eight bytes at a time.
bool is_plain(std::string_view text) {
  uint64_t marks = 0;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    marks |= marks_of(word);
  }
  if (at < text.size()) {
    uint64_t word = 0x2020202020202020;
    std::memcpy(&word, text.data() + at, text.size() - at);
    marks |= marks_of(word);
  }
  return marks == 0;
}

void append_string(std::string& out, const std::string& text) {
  if (!is_plain(text)) {
    out += json(text).dump();
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append(std::string& out, const json& value) {
  if (value.is_string()) return append_string(out, value.get_ref<const std::string&>());
  if (!value.is_structured()) {
    out += value.dump();
    return;
  }
  const bool is_object = value.is_object();
  out += is_object ? '{' : '[';
  bool first = true;
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (!first) out += ',';
    first = false;
    if (is_object) {
      append_string(out, member.key());
      out += ':';
    }
    append(out, *member);
  }
  out += is_object ? '}' : ']';
}

json converted(const simdjson::dom::element& element) {
  switch (element.type()) {
    case simdjson::dom::element_type::OBJECT: {
      json out = json::object();
      const simdjson::dom::object object = element.get_object();
      for (const simdjson::dom::key_value_pair field : object) out[std::string(field.key)] = converted(field.value);
      return out;
    }
    case simdjson::dom::element_type::ARRAY: {
      json out = json::array();
      const simdjson::dom::array array = element.get_array();
      for (const simdjson::dom::element one : array) out.push_back(converted(one));
      return out;
    }
    case simdjson::dom::element_type::STRING:
      return std::string(element.get_string().value_unsafe());
    case simdjson::dom::element_type::INT64:
      // nlohmann-json has whole numbers that are not negative as unsigned.
      return element.get_int64().value_unsafe() < 0 ? json(element.get_int64().value_unsafe())
                                                    : json(static_cast<uint64_t>(element.get_int64().value_unsafe()));
    case simdjson::dom::element_type::UINT64:
      return element.get_uint64().value_unsafe();
    case simdjson::dom::element_type::DOUBLE:
      return element.get_double().value_unsafe();
    case simdjson::dom::element_type::BOOL:
      return element.get_bool().value_unsafe();
    case simdjson::dom::element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

}  // namespace

std::string text_of_json(const nlohmann::json& json) {
  std::string out;
  append(out, json);
  return out;
}

// A text that simdjson refuses may have a number that it cannot hold.
nlohmann::json parse_json(std::string_view text) {
  static thread_local simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS) return converted(root);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace freshet::sim
