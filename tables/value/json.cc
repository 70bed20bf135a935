#include "tables/value/json.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/limits.h"
#include "tables/value/encoding.h"
#include "tables/value/json_reader.h"
#include "tables/value/nesting.h"
#include "tables/value/text.h"

namespace freshet {
namespace {

using namespace encoding;

// --- Writing ---

enum CharClass : uint8_t { kPlain, kEscaped, kMultibyte };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (size_t c = 0; c < 0x20; ++c) classes[c] = kEscaped;
  classes['"'] = kEscaped;
  classes['\\'] = kEscaped;
  for (size_t c = 0x80; c < 0x100; ++c) classes[c] = kMultibyte;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

// Appends many small pieces to the end of a string. It grows the string in advance, so that most pieces need no call;
// the destructor sets the right size.
class Text {
 public:
  explicit Text(std::string& out, size_t ahead = kAhead) : out_(out), ahead_(ahead) { place(out.size()); }
  ~Text() { out_.resize(size()); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  // Returns room to write this many bytes. took() adds the bytes that were written, or took_to() by their end.
  char* room(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) grow(bytes);
    return at_;
  }
  void took(size_t bytes) { at_ += bytes; }
  void took_to(char* end) { at_ = end; }
  void add(char c) {
    *room(1) = c;
    took(1);
  }
  void add(std::string_view piece) {
    std::memcpy(room(piece.size()), piece.data(), piece.size());
    took(piece.size());
  }

 private:
  static constexpr size_t kAhead = 1024;

  size_t size() const { return static_cast<size_t>(at_ - out_.data()); }
  void place(size_t size) {
    at_ = out_.data() + size;
    end_ = out_.data() + out_.size();
  }
  [[gnu::noinline]] void grow(size_t bytes) {  // Called seldom, so it is not inlined: its callers stay small.
    const size_t have = size();
    out_.resize(have + bytes + ahead_);
    place(have);
  }

  std::string& out_;
  const size_t ahead_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

// Sixteen bytes that the processor compares at once.
using Bytes = int8_t __attribute__((vector_size(16)));
using Words = uint64_t __attribute__((vector_size(16)));

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool is_plain(Bytes bytes) {
  // Signed: what is part of a longer character is below the blank, too.
  const auto special = reinterpret_cast<Words>((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
  return (special[0] | special[1]) == 0;
}

// Copies the characters at the front of `text` that need no escape, and returns their number. Nearly always that is all
// of the text, so whole blocks are checked at once, and the rest as two blocks that overlap.
inline size_t copy_plain(std::string_view text, char* out) {
  const char* const in = text.data();
  const size_t size = text.size();
  size_t n = 0;
  if (size >= sizeof(Bytes)) {
    const size_t last = size - sizeof(Bytes);
    for (;; n = std::min(n + sizeof(Bytes), last)) {
      const auto block = load<Bytes>(in + n);
      if (!is_plain(block)) break;
      std::memcpy(out + n, &block, sizeof block);
      if (n == last) return size;
    }
  } else if (size >= sizeof(uint64_t)) {
    const size_t last = size - sizeof(uint64_t);
    const auto front = load<uint64_t>(in);
    const auto back = load<uint64_t>(in + last);
    if (is_plain(reinterpret_cast<Bytes>(Words{front, back}))) {
      std::memcpy(out, &front, sizeof front);
      std::memcpy(out + last, &back, sizeof back);
      return size;
    }
  } else if (size >= sizeof(uint32_t)) {
    const size_t last = size - sizeof(uint32_t);
    const uint64_t both = load<uint32_t>(in) | static_cast<uint64_t>(load<uint32_t>(in + last)) << 32;
    if (is_plain(reinterpret_cast<Bytes>(Words{both, both}))) {
      std::memcpy(out, in, sizeof(uint32_t));
      std::memcpy(out + last, in + last, sizeof(uint32_t));
      return size;
    }
  }
  for (; n < size && kClasses[static_cast<unsigned char>(in[n])] == kPlain; ++n) out[n] = in[n];
  return n;
}

// The text around names and values. Eight bytes are copied, whatever the size.
struct Piece {
  char text[8];
  size_t size;
};
constexpr Piece kQuote = {{'"'}, 1};
constexpr Piece kNameEnd = {{'"', ':'}, 2};
constexpr Piece kTaggedString = {{'{', '"', 'S', '"', ':', '"'}, 6};
constexpr Piece kTaggedNumber = {{'{', '"', 'N', '"', ':', '"'}, 6};
constexpr Piece kTaggedEnd = {{'"', '}'}, 2};

// Before a value of each of the other types, in the order of Type.
constexpr std::array<Piece, 8> kTags = {{{{'{', '"', 'B', '"', ':'}, 5},
                                         {{'{', '"', 'B', 'O', 'O', 'L', '"', ':'}, 8},
                                         {{'{', '"', 'N', 'U', 'L', 'L', '"', ':'}, 8},
                                         {{'{', '"', 'M', '"', ':'}, 5},
                                         {{'{', '"', 'L', '"', ':'}, 5},
                                         {{'{', '"', 'S', 'S', '"', ':'}, 6},
                                         {{'{', '"', 'N', 'S', '"', ':'}, 6},
                                         {{'{', '"', 'B', 'S', '"', ':'}, 6}}};

// Writes the piece to `at`, which has room for eight bytes. Returns the position behind it.
inline char* put(char* at, const Piece& piece) {
  std::memcpy(at, piece.text, sizeof piece.text);
  return at + piece.size;
}

void add_tag(Text& out, Type type) {
  const Piece& tag = kTags[static_cast<size_t>(type) - static_cast<size_t>(Type::kBinary)];
  out.took_to(put(out.room(sizeof tag.text), tag));
}

void add_escape(Text& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out.add('\\');
  if (size_t i = kShort.find(c); i != std::string_view::npos) {
    out.add(kLetters[i]);
    return;
  }
  out.add("u00");
  out.add(kHex[static_cast<unsigned char>(c) >> 4]);
  out.add(kHex[static_cast<unsigned char>(c) & 15]);
}

// Adds the rest of a string from the first character that needs an escape; mostly there is none.
[[gnu::noinline]] void add_rest(Text& out, std::string_view text) {
  while (!text.empty()) {
    size_t taken = 1;
    if (kClasses[static_cast<unsigned char>(text[0])] == kEscaped) {
      add_escape(out, text[0]);
    } else if (size_t valid = utf8_sequence(text)) {
      out.add(text.substr(0, valid));
      taken = valid;
    } else {
      out.add("\xef\xbf\xbd");
    }
    text.remove_prefix(taken);
    const size_t n = copy_plain(text, out.room(text.size()));
    out.took(n);
    text.remove_prefix(n);
  }
}

// The content of a string, escaped, and what stands around it.
inline void add_string(Text& out, const Piece& before, std::string_view text, const Piece& behind) {
  char* at = put(out.room(text.size() + 2 * sizeof before.text), before);
  const size_t n = copy_plain(text, at);
  at += n;
  if (n < text.size()) {
    out.took_to(at);
    add_rest(out, text.substr(n));
    at = out.room(sizeof behind.text);
  }
  out.took_to(put(at, behind));
}

void add_string(Text& out, std::string_view text) {
  add_string(out, kQuote, text, kQuote);
}

void add_number(Text& out, const Piece& before, std::string_view ordered, const Piece& behind) {
  char* const at = put(out.room(kMaxNumberText + 2 * sizeof before.text), before);
  out.took_to(put(at + spell_number(ordered, at), behind));
}

void add_base64(Text& out, std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  out.add('"');
  out.add(text);
  out.add('"');
}

// `write` writes the value that begins at a position, and returns the position behind it.
template <class Write>
void add_sequence(Text& out, std::string_view in, char open, char close, const Write& write) {
  const char* at = in.data();
  const char* const end = at + in.size();
  take_varint(at);
  out.add(open);
  for (bool first = true; at != end; first = false) {
    if (!first) out.add(',');
    at = write(at);
  }
  out.add(close);
}

// Both spellings walk the encoded form alike; they differ in the tag around a value and in the quotes around a number.
template <bool tagged>
struct Writer {
  // The place behind the value that begins at this one.
  static const char* value(Text& out, const char* at) {
    const auto type = static_cast<Type>(*at);
    const std::string_view content = take_content(at);
    if (type == Type::kString) {
      add_string(out, tagged ? kTaggedString : kQuote, content, tagged ? kTaggedEnd : kQuote);
    } else if (type == Type::kNumber) {
      add_number(out, tagged ? kTaggedNumber : Piece{}, content, tagged ? kTaggedEnd : Piece{});
    } else {
      if constexpr (tagged) add_tag(out, type);
      other(out, type, content);
      if constexpr (tagged) out.add('}');
    }
    return at;
  }

  // Neither a string nor a number.
  static void other(Text& out, Type type, std::string_view in) {
    switch (type) {
      case Type::kBool:
        out.add(in[0] ? "true" : "false");
        break;
      case Type::kNull:
        out.add(tagged ? "true" : "null");
        break;
      case Type::kMap:
        map(out, in);
        break;
      case Type::kList:
        add_sequence(out, in, '[', ']', [&](const char* at) { return value(out, at); });
        break;
      case Type::kStringSet:
        add_sequence(out, in, '[', ']', [&](const char* at) {
          add_string(out, take_text(at));
          return at;
        });
        break;
      case Type::kNumberSet:
        add_sequence(out, in, '[', ']', [&](const char* at) {
          add_number(out, tagged ? kQuote : Piece{}, take_text(at), tagged ? kQuote : Piece{});
          return at;
        });
        break;
      case Type::kBinarySet:
        add_sequence(out, in, '[', ']', [&](const char* at) {
          add_base64(out, take_text(at));
          return at;
        });
        break;
      default:
        add_base64(out, in);
        break;
    }
  }

  static void map(Text& out, std::string_view in) {
    add_sequence(out, in, '{', '}', [&](const char* at) {
      add_string(out, kQuote, take_text(at), kNameEnd);
      return value(out, at);
    });
  }

  static void append_value(std::string& out, std::string_view encoded) {
    Text text(out);
    value(text, encoded.data());
  }
  static void append_map(std::string& out, std::string_view encoded) {
    Text text(out);
    map(text, encoded);
  }
  static void append_decoded(std::string& out, const Value& decoded) {
    std::string encoded;
    append_encoded(encoded, decoded);
    append_value(out, encoded);
  }
  static void append_decoded(std::string& out, const Item& item) {
    std::string encoded;
    append_encoded(encoded, item);
    append_map(out, encoded);
  }
};

// --- Reading ---
//
// Faults of a value in the protocol's form have the service's words, which do not name the place. Faults of anything
// else, plain JSON included, name the place.

std::string at(const JsonView& json) {
  std::string path = json.path();
  return path.empty() ? std::string() : " (at " + path + ")";
}

tl::unexpected<Error> with_place(Error error, const JsonView& json) {
  error.message += at(json);
  return fail(std::move(error));
}

Result<void> check_depth(size_t depth) {
  if (depth < kMaxContainers) return {};
  return invalid(
      "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported "
      "limit");
}

Result<std::string> blob_of(const JsonView& json) {
  auto text = json.as_string();
  if (!text) return fail(std::move(text.error()));
  std::string bytes;
  std::string problem = append_from_base64(bytes, *text);
  if (problem.empty()) return bytes;
  constexpr size_t kShown = 100;
  std::string shown(text->substr(0, kShown));
  return fail(ErrorCode::kSerialization, "'" + shown + (text->size() > kShown ? "..." : "") +
                                             "' can not be converted to a Blob: " + problem + at(json));
}

Result<Decimal> number_of(const JsonView& json) {
  auto text = json.as_string();
  if (!text) return fail(std::move(text.error()));
  return Decimal::parse(*text);
}

Result<std::string> string_of(const JsonView& json) {
  auto text = json.as_string();
  if (!text) return fail(std::move(text.error()));
  return std::string(*text);
}

template <class T, class Read>
Result<std::vector<T>> members_of(const JsonView& json, const Read& read) {
  auto array = json.as_array();
  if (!array) return fail(std::move(array.error()));
  std::vector<T> members;
  members.reserve(json.size());
  for (JsonView element : json) {
    Result<T> member = read(element);
    if (!member) return fail(std::move(member.error()));
    members.push_back(std::move(*member));
  }
  return members;
}

template <class Set, class T, class Read>
Result<Value> set_of(const JsonView& json, const Read& read) {
  auto members = members_of<T>(json, read);
  if (!members) return fail(std::move(members.error()));
  Value value(Set{std::move(*members)});
  if (auto done = normalize(value, {}); !done) return fail(std::move(done.error()));
  return value;
}

template <class T>
Result<Value> value_from(Result<T> part) {
  if (!part) return fail(std::move(part.error()));
  return Value(std::move(*part));
}

Result<Value> attribute_at(const JsonView& json, size_t depth);
Result<Value> plain_at(const JsonView& json, size_t depth);

template <class Read>
Result<Map> map_at(const JsonView& json, size_t depth, const Read& read) {
  auto object = json.as_object();
  if (!object) return fail(std::move(object.error()));
  std::vector<Map::Entry> entries;
  entries.reserve(json.size());
  for (JsonView member : json) {
    if (member.name().size() > limits::kMaxAttributeNameBytes) {
      return invalid("Attribute name is too large, must be less than 65536 bytes");
    }
    Result<Value> value = read(member, depth);
    if (!value) return fail(std::move(value.error()));
    entries.emplace_back(std::string(member.name()), std::move(*value));
  }
  return Map::from_entries(std::move(entries));
}

template <class Read>
Result<Value> list_at(const JsonView& json, size_t depth, const Read& read) {
  auto elements = members_of<Value>(json, [&](const JsonView& element) { return read(element, depth); });
  if (!elements) return fail(std::move(elements.error()));
  return Value(List{std::move(*elements)});
}

Result<Value> boolean_of(const JsonView& json, bool null) {
  auto value = json.as_bool();
  if (!value) return fail(std::move(value.error()));
  if (!null) return Value::boolean(*value);
  if (*value) return Value(Null{});
  return invalid("One or more parameter values were invalid: Null attribute value types must have the value of true");
}

Result<Value> binary_of(const JsonView& json) {
  auto bytes = blob_of(json);
  if (!bytes) return fail(std::move(bytes.error()));
  return Value(Binary{std::move(*bytes)});
}

// The type that a member's name stands for; nothing if the service knows no such type.
std::optional<Type> type_named(std::string_view name) {
  for (auto type = static_cast<uint8_t>(Type::kString); type <= static_cast<uint8_t>(Type::kBinarySet); ++type) {
    if (type_name(static_cast<Type>(type)) == name) return static_cast<Type>(type);
  }
  return std::nullopt;
}

Result<Value> content_at(const JsonView& json, Type type, size_t depth) {
  switch (type) {
    case Type::kString:
      return value_from(string_of(json));
    case Type::kNumber:
      return value_from(number_of(json));
    case Type::kBinary:
      return binary_of(json);
    case Type::kBool:
      return boolean_of(json, false);
    case Type::kNull:
      return boolean_of(json, true);
    case Type::kStringSet:
      return set_of<StringSet, std::string>(json, string_of);
    case Type::kNumberSet:
      return set_of<NumberSet, Decimal>(json, number_of);
    case Type::kBinarySet:
      return set_of<BinarySet, std::string>(json, blob_of);
    default:
      break;
  }
  if (auto fits = check_depth(depth); !fits) return fail(std::move(fits.error()));
  if (type == Type::kMap) return value_from(map_at(json, depth + 1, attribute_at));
  return list_at(json, depth + 1, attribute_at);
}

Result<Value> attribute_at(const JsonView& json, size_t depth) {
  auto object = json.as_object();
  if (!object) return fail(std::move(object.error()));
  std::optional<Type> type;
  std::optional<JsonView> content;
  for (JsonView member : json) {
    if (member.is(JsonKind::kNull)) continue;
    auto named = type_named(member.name());
    if (!named) continue;
    if (type && *type != *named) {
      return invalid(
          "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
          "datatypes");
    }
    type = named;
    content = member;
  }
  if (!type) {
    return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
  }
  return content_at(*content, *type, depth);
}

Result<Value> plain_at(const JsonView& json, size_t depth) {
  switch (json.kind()) {
    case JsonKind::kNull:
      return Value(Null{});
    case JsonKind::kBool:
      return Value::boolean(json.boolean());
    case JsonKind::kString:
      return Value(json.text());
    case JsonKind::kNumber: {
      auto number = Decimal::parse(json.text());
      if (!number) return with_place(std::move(number.error()), json);
      return Value(*number);
    }
    default:
      break;
  }
  if (auto fits = check_depth(depth); !fits) return with_place(std::move(fits.error()), json);
  if (json.is(JsonKind::kObject)) return value_from(map_at(json, depth + 1, plain_at));
  return list_at(json, depth + 1, plain_at);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  Text end(out, 0);  // Most often there is nothing to escape.
  add_string(end, text);
}

void append_attribute_json(std::string& out, const Value& value) {
  Writer<true>::append_decoded(out, value);
}
void append_attribute_json(std::string& out, const ValueView& value) {
  Writer<true>::append_value(out, value.encoded());
}
void append_item_json(std::string& out, const Item& item) {
  Writer<true>::append_decoded(out, item);
}
void append_item_json(std::string& out, const ItemRef& item) {
  Writer<true>::append_map(out, item.encoded());
}
constexpr size_t kPageAhead = 16u << 10;

void append_items_json(std::string& out, std::span<const ItemRef> items) {
  size_t stored = 0;
  for (const ItemRef& item : items) stored += item.encoded().size();
  const size_t expected = 2 * stored;  // About the size with names, tags and quotes.
  out.reserve(out.size() + expected);
  // A large page takes memory as it grows and not before: answers that wait for their client hold theirs.
  Text text(out, std::min(expected, kPageAhead));
  text.add('[');
  for (const ItemRef& item : items) {
    if (&item != &items.front()) text.add(',');
    Writer<true>::map(text, item.encoded());
  }
  text.add(']');
}
void append_plain_json(std::string& out, const Value& value) {
  Writer<false>::append_decoded(out, value);
}
void append_plain_json(std::string& out, const ValueView& value) {
  Writer<false>::append_value(out, value.encoded());
}
void append_plain_json(std::string& out, const Item& item) {
  Writer<false>::append_decoded(out, item);
}
void append_plain_json(std::string& out, const ItemRef& item) {
  Writer<false>::append_map(out, item.encoded());
}

Result<Item> item_of(const JsonView& json) {
  auto item = map_at(json, 0, attribute_at);
  if (item && item->contains("")) return invalid("Empty attribute name");
  return item;
}
Result<Value> attribute_of(const JsonView& json) {
  return attribute_at(json, 0);
}
Result<Value> plain_value_of(const JsonView& json) {
  return plain_at(json, 0);
}

Result<Item> parse_item_json(std::string_view json) {
  JsonDocument document;
  auto root = document.parse(json);
  if (!root) return fail(std::move(root.error()));
  return item_of(*root);
}

Result<Value> parse_plain_json(std::string_view json) {
  JsonDocument document;
  auto root = document.parse(json);
  if (!root) return fail(std::move(root.error()));
  return plain_value_of(*root);
}

}  // namespace freshet
