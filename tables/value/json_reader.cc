#include "tables/value/json_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "tables/value/text.h"

namespace freshet {
namespace {

namespace ondemand = simdjson::ondemand;
using json_detail::Node;

constexpr size_t kKeptBytes = 1u << 20;  // Larger buffers are given back after use.
constexpr size_t kSmallestBuffer = 4096;
constexpr size_t kShownName = 128;  // The most bytes of a member's name in a path.

// A program finds the place by the offset in bytes, a person by line and column (in characters).
tl::unexpected<Error> malformed(const std::string& what, std::string_view json, size_t offset) {
  const std::string_view before = json.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // Without a line feed, npos + 1 is 0.
  const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return fail(ErrorCode::kSerialization, "malformed JSON at offset " + std::to_string(offset) + " (line " +
                                             std::to_string(lines + 1) + ", column " + std::to_string(characters + 1) +
                                             "): " + what);
}

// The parser and the padded copy of the text that it wants; one of each per thread.
struct Workspace {
  ondemand::parser parser;
  std::unique_ptr<char[]> padded;
  size_t capacity = 0;  // The room for text, without the padding.

  bool prepare(size_t size) {
    if (size <= capacity) return true;
    size_t wanted = std::max({size, 2 * capacity, kSmallestBuffer});
    padded.reset(new char[wanted + simdjson::SIMDJSON_PADDING]);
    capacity = wanted;
    return parser.allocate(wanted, JsonDocument::kMaxDepth + 8) == simdjson::SUCCESS;
  }
  void trim() {
    if (capacity > kKeptBytes) *this = Workspace();
  }
};

// A bit for a name. An object keeps the bits of all its members. Most look-ups are for names that the object does not
// have, and nearly all of those have a bit that no member has.
uint32_t name_bit(std::string_view name) {
  const size_t first = name.empty() ? 0 : static_cast<unsigned char>(name.front());
  return uint32_t{1} << (5 * name.size() + first) % 32;
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && std::strchr(" \t\r\n", token.back())) token.remove_suffix(1);
  return token;
}

bool is_json_number(std::string_view text) {
  size_t at = 0;
  auto digits = [&] {
    size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - start;
  };
  auto take = [&](char a, char b) {
    if (at == text.size() || (text[at] != a && text[at] != b)) return false;
    ++at;
    return true;
  };
  take('-', '-');
  bool zero = at < text.size() && text[at] == '0';
  size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (take('.', '.') && digits() == 0) return false;
  if (take('e', 'E')) {
    take('+', '-');
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// Offset of the first byte that is no UTF-8.
size_t utf8_problem(std::string_view text) {
  size_t at = 0;
  for (size_t n; at < text.size() && (n = utf8_sequence(text.substr(at))) > 0;) at += n;
  return at;
}

// Offset of the first control character inside a string.
size_t control_problem(std::string_view text) {
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (inside && static_cast<unsigned char>(c) < 0x20) return at;
    if (c == '"') inside = !inside;
    if (inside && c == '\\') ++at;
  }
  return text.size();
}

tl::unexpected<Error> explain(simdjson::error_code code, std::string_view json, size_t offset) {
  switch (code) {
    case simdjson::UTF8_ERROR:
      return malformed("not valid UTF-8", json, utf8_problem(json));
    case simdjson::UNESCAPED_CHARS:
      return malformed("a control character inside a string must be escaped", json, control_problem(json));
    case simdjson::UNCLOSED_STRING:
      return malformed("the text ends inside a string", json, json.size());
    case simdjson::STRING_ERROR:
      return malformed("a wrong escape in a string", json, offset);
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return malformed("an array or object is not closed", json, json.size());
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY:
      return fail(ErrorCode::kRequestTooLarge, "a JSON document of " + std::to_string(json.size()) + " bytes");
    default:
      return malformed(offset >= json.size() ? "unexpected end" : "unexpected character", json, offset);
  }
}

}  // namespace

// Copies the parser's values into the nodes and the text of a document. The parser gets "[" + json + "]", so that a
// document of one scalar is not a special case.
class JsonBuilder {
 public:
  JsonBuilder(JsonDocument& document, Workspace& workspace, std::string_view json)
      : document_(document), workspace_(workspace), json_(json), next_(document.text_.get()) {}

  Result<JsonView> build() {
    char* padded = workspace_.padded.get();
    size_t size = json_.size() + 2;
    padded[0] = '[';
    std::memcpy(padded + 1, json_.data(), json_.size());
    padded[size - 1] = ']';
    std::memset(padded + size, 0, simdjson::SIMDJSON_PADDING);
    ondemand::document all;
    auto code = workspace_.parser.iterate(padded, size, size + simdjson::SIMDJSON_PADDING).get(all);
    if (code) return explain(code, json_, json_.size());
    if (!read_document(all)) return failure(all);
    return JsonView(&document_, 0);
  }

 private:
  bool read_document(ondemand::document& all) {
    ondemand::array wrapper;
    if ((code_ = all.get_array().get(wrapper))) return false;
    bool found = false;
    for (auto element : wrapper) {
      ondemand::value value;
      if ((code_ = element.get(value))) return false;
      if (found) return refuse("more than one value in the document");
      found = true;
      if (!read(value, {}, 0)) return false;
    }
    if (!found) return refuse("there is no value");
    // Text behind the wrapper's end is not part of a document.
    return all.current_location().error() == simdjson::OUT_OF_BOUNDS || refuse("unexpected character");
  }

  Result<JsonView> failure(ondemand::document& all) {
    const char* at = nullptr;
    size_t offset = json_.size();
    if (!all.current_location().get(at))
      offset = std::min(offset, static_cast<size_t>(at - workspace_.padded.get()) - 1);
    if (!refusal_.empty()) return malformed(refusal_, json_, refused_at_.value_or(offset));
    return explain(code_, json_, refused_at_.value_or(offset));
  }

  bool refuse(std::string what) {
    refusal_ = std::move(what);
    return false;
  }
  bool refuse_at(const char* place) {
    refused_at_ = static_cast<size_t>(place - workspace_.padded.get()) - 1;
    return false;
  }

  // The content of a string that starts behind the quote at `raw`.
  bool unescape(ondemand::raw_json_string raw, std::string_view& text) {
    auto* end = reinterpret_cast<uint8_t*>(next_);
    code_ = workspace_.parser.unescape(raw, end).get(text);
    // The document is UTF-8, so only an escape can give anything else: half of a surrogate pair.
    const bool as_it_was = !code_ && std::memcmp(text.data(), raw.raw(), text.size()) == 0;
    if (!code_ && !as_it_was && !is_utf8(text)) code_ = simdjson::STRING_ERROR;
    if (code_) return refuse_at(raw.raw());
    next_ = reinterpret_cast<char*>(end);
    return true;
  }

  uint32_t place(std::string_view text) const { return static_cast<uint32_t>(text.data() - document_.text_.get()); }

  bool read(ondemand::value value, std::string_view name, size_t depth) {
    auto& nodes = document_.nodes_;
    if (nodes.size() == JsonDocument::kMaxNodes) return refuse("too many values in one document");
    if (depth > JsonDocument::kMaxDepth) return refuse("nested too deeply");
    size_t index = nodes.size();
    Node node;
    if (!name.empty()) {
      node.name_at = place(name);
      node.name_size = static_cast<uint32_t>(name.size());
    }
    ondemand::json_type type;
    if ((code_ = value.type().get(type))) return false;
    nodes.push_back(node);
    if (!read_content(value, type, nodes[index], index, depth)) return false;
    nodes[index].end = static_cast<uint32_t>(nodes.size());
    return true;
  }

  // `node` is valid until children are read.
  bool read_content(ondemand::value& value, ondemand::json_type type, Node& node, size_t index, size_t depth) {
    switch (type) {
      case ondemand::json_type::array:
        node.kind = JsonKind::kArray;
        return read_array(value, index, depth);
      case ondemand::json_type::object:
        node.kind = JsonKind::kObject;
        return read_object(value, index, depth);
      case ondemand::json_type::number:
        node.kind = JsonKind::kNumber;
        return read_number(value, node);
      case ondemand::json_type::string:
        node.kind = JsonKind::kString;
        return read_string(value, node);
      case ondemand::json_type::boolean: {
        node.kind = JsonKind::kBool;
        std::string_view token = value.raw_json_token();
        bool yes = false;
        if ((code_ = value.get_bool().get(yes))) return refuse_at(token.data());
        node.size = yes;
        return true;
      }
      default: {
        std::string_view token = value.raw_json_token();
        bool null = false;
        if (value.is_null().get(null) || !null) return refuse_at(token.data()) || refuse("unexpected character");
        return true;
      }
    }
  }

  bool read_string(ondemand::value& value, Node& node) {
    ondemand::raw_json_string raw;
    std::string_view text;
    if ((code_ = value.get_raw_json_string().get(raw)) || !unescape(raw, text)) return false;
    node.at = place(text);
    node.size = static_cast<uint32_t>(text.size());
    return true;
  }

  bool read_number(ondemand::value& value, Node& node) {
    std::string_view token = trimmed(value.raw_json_token());
    if (!is_json_number(token)) return refuse_at(token.data()) || refuse("not a number");
    std::memcpy(next_, token.data(), token.size());
    node.at = place({next_, token.size()});
    node.size = static_cast<uint32_t>(token.size());
    next_ += token.size();
    return true;
  }

  bool read_array(ondemand::value& value, size_t index, size_t depth) {
    ondemand::array array;
    if ((code_ = value.get_array().get(array))) return false;
    uint32_t count = 0;
    for (auto element : array) {
      ondemand::value child;
      if ((code_ = element.get(child)) || !read(child, {}, depth + 1)) return false;
      ++count;
    }
    document_.nodes_[index].size = count;
    return true;
  }

  bool read_object(ondemand::value& value, size_t index, size_t depth) {
    ondemand::object object;
    if ((code_ = value.get_object().get(object))) return false;
    uint32_t count = 0;
    uint32_t name_bits = 0;
    for (auto member : object) {
      ondemand::field field;
      std::string_view name;
      if ((code_ = std::move(member).get(field)) || !unescape(field.key(), name)) return false;
      if (!read(field.value(), name, depth + 1)) return false;
      name_bits |= name_bit(name);
      ++count;
    }
    document_.nodes_[index].at = name_bits;
    document_.nodes_[index].size = count;
    return true;
  }

  JsonDocument& document_;
  Workspace& workspace_;
  std::string_view json_;
  char* next_;  // Where the next text goes.
  simdjson::error_code code_ = simdjson::SUCCESS;
  std::string refusal_;
  std::optional<size_t> refused_at_;
};

void JsonDocument::prepare(size_t text_bytes) {
  nodes_.clear();
  if (nodes_.capacity() * sizeof(Node) > kKeptBytes) nodes_ = {};
  bool wasteful = text_capacity_ > kKeptBytes && text_bytes <= kKeptBytes;
  if (text_bytes <= text_capacity_ && !wasteful) return;
  text_capacity_ = std::max(text_bytes, kSmallestBuffer);
  text_.reset(new char[text_capacity_]);
}

Result<JsonView> JsonDocument::parse(std::string_view json) {
  thread_local Workspace workspace;
  size_t size = json.size() + 2;
  if (size > UINT32_MAX / 2) return explain(simdjson::CAPACITY, json, 0);
  // No text grows when it is unescaped; the parser writes up to its padding behind the end.
  prepare(size + simdjson::SIMDJSON_PADDING);
  if (!workspace.prepare(size)) return explain(simdjson::MEMALLOC, json, 0);
  auto result = JsonBuilder(*this, workspace, json).build();
  workspace.trim();
  return result;
}

namespace {

std::string_view kind_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "NULL_VALUE";
    case JsonKind::kNumber:
      return "NUMBER_VALUE";
    case JsonKind::kString:
      return "STRING_VALUE";
    default:
      return "BOOLEAN_VALUE";
  }
}

tl::unexpected<Error> wrong_kind(const JsonView& json, std::string_view wanted) {
  std::string message;
  if (json.is(JsonKind::kArray)) {
    message = "Start of list found where not expected";
  } else if (json.is(JsonKind::kObject)) {
    message = "Start of structure or map found where not expected";
  } else if (json.is(JsonKind::kBool)) {
    message = std::string(json.boolean() ? "TRUE" : "FALSE") + "_VALUE cannot be converted to " + std::string(wanted);
  } else {
    message = std::string(kind_name(json.kind())) + " cannot be converted to " + std::string(wanted);
  }
  std::string path = json.path();
  return fail(ErrorCode::kSerialization, message + (path.empty() ? "" : " (at " + path + ")"));
}

}  // namespace

std::string_view JsonView::text() const {
  const Node& n = node();
  if (n.kind != JsonKind::kString && n.kind != JsonKind::kNumber) return {};
  return {document_->text_.get() + n.at, n.size};
}

std::string_view JsonView::name() const {
  return {document_->text_.get() + node().name_at, node().name_size};
}

size_t JsonView::size() const {
  return is(JsonKind::kArray) || is(JsonKind::kObject) ? node().size : 0;
}
JsonView::Iterator JsonView::begin() const {
  return {document_, index_ + 1};
}
JsonView::Iterator JsonView::end() const {
  return {document_, node().end};
}

JsonMember JsonView::find(std::string_view name) const {
  if (!is(JsonKind::kObject) || (node().at & name_bit(name)) == 0) return {};
  const Node* nodes = document_->nodes_.data();
  const char* text = document_->text_.get();
  uint32_t found = index_;
  for (uint32_t i = index_ + 1; i < nodes[index_].end; i = nodes[i].end) {
    const Node& member = nodes[i];
    const bool same_size = member.name_size == name.size();
    if (same_size && std::memcmp(text + member.name_at, name.data(), name.size()) == 0) found = i;
  }
  if (found == index_ || nodes[found].kind == JsonKind::kNull) return {};
  return JsonView(document_, found);
}

Result<std::string_view> JsonView::as_string() const {
  if (!is(JsonKind::kString)) return wrong_kind(*this, "String");
  return text();
}

Result<bool> JsonView::as_bool() const {
  if (!is(JsonKind::kBool)) return wrong_kind(*this, "Boolean");
  return boolean();
}

Result<int64_t> JsonView::as_int() const {
  if (!is(JsonKind::kNumber)) return wrong_kind(*this, "Integer");
  bool fits = false;
  auto number = Decimal::parse(text());
  int64_t value = number ? number->to_int64(fits) : 0;
  if (!fits) return wrong_kind(*this, "Integer");
  return value;
}

Result<JsonView> JsonView::as_array() const {
  if (!is(JsonKind::kArray)) return wrong_kind(*this, "List");
  return *this;
}

Result<JsonView> JsonView::as_object() const {
  if (!is(JsonKind::kObject)) return wrong_kind(*this, "Map");
  return *this;
}

Result<std::string_view> JsonView::string_or(std::string_view name, std::string_view fallback) const {
  auto member = find(name);
  return member ? member->as_string() : Result<std::string_view>(fallback);
}

Result<bool> JsonView::bool_or(std::string_view name, bool fallback) const {
  auto member = find(name);
  return member ? member->as_bool() : Result<bool>(fallback);
}

Result<int64_t> JsonView::int_or(std::string_view name, int64_t fallback) const {
  auto member = find(name);
  return member ? member->as_int() : Result<int64_t>(fallback);
}

std::string JsonView::path() const {
  std::string path;
  JsonView here(document_, 0);
  while (here.index_ != index_) {
    size_t position = 0;
    bool in_array = here.is(JsonKind::kArray);
    for (JsonView child : here) {
      if (index_ < child.node().end) {
        here = child;
        break;
      }
      ++position;
    }
    if (in_array) {
      path += "[" + std::to_string(position) + "]";
    } else {
      if (!path.empty()) path += '.';
      path += here.name().substr(0, kShownName);
    }
  }
  return path;
}

}  // namespace freshet
