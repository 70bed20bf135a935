// Reading JSON documents: a request body, a payload, a line of a file. Objects, arrays, strings, numbers as they were
// written, booleans; and any part of the document as an item or a value.
//
//   JsonDocument document;                     // Keep one per thread or connection: parsing again reuses its memory.
//   auto body = document.parse(text);          // Result<JsonView>
//   auto table = body->string_or("TableName");
//   if (auto item = body->find("Item")) return item_of(*item);
//
// Reads strict JSON (RFC 8259) in valid UTF-8, one value per document, at most kMaxDepth deep. Where a name
// occurs twice in one object the last one counts, as with most parsers. Errors are kSerialization and say where: the
// byte offset in malformed text, else the path of the member ("Item.tags.SS[2]").
// Threading: a document and its views belong to one thread at a time; different documents are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/value/value.h"

namespace freshet {

enum class JsonKind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

namespace json_detail {
// One value of the document, in the order of the text: children stand right behind their parent.
struct Node {
  uint32_t name_at = 0;  // The position of the member's name in the document's text.
  uint32_t name_size = 0;
  uint32_t at = 0;    // Where a string's or number's content is in the text; for an object, its members' name_bits.
  uint32_t size = 0;  // The content's bytes; for an array or object, the number of children; 1 for true.
  uint32_t end = 0;   // The first node that is not inside this one.
  JsonKind kind = JsonKind::kNull;
};
}  // namespace json_detail

class JsonDocument;
class JsonMember;

// One value of a document: a small handle, valid until the document parses again or ends.
class JsonView {
 public:
  class Iterator;

  JsonKind kind() const { return node().kind; }
  bool is(JsonKind kind) const { return node().kind == kind; }
  std::string_view text() const;  // The content of a string, the spelling of a number; else empty.
  bool boolean() const { return is(JsonKind::kBool) && node().size != 0; }
  std::string_view name() const;  // The name of a member of an object; else empty.

  // The elements of an array, the members of an object (in the order of the text, duplicates too); else empty.
  size_t size() const;
  Iterator begin() const;
  Iterator end() const;
  // The member of that name; empty if it is absent or null, or if this is not an object.
  JsonMember find(std::string_view name) const;

  // This value as the given type, or an error that says what it is and where.
  Result<std::string_view> as_string() const;
  Result<bool> as_bool() const;
  Result<int64_t> as_int() const;  // An integer that fits into 64 bits.
  Result<JsonView> as_array() const;
  Result<JsonView> as_object() const;

  // A member as the given type; the fallback if it is absent or null.
  Result<std::string_view> string_or(std::string_view name, std::string_view fallback = {}) const;
  Result<bool> bool_or(std::string_view name, bool fallback) const;
  Result<int64_t> int_or(std::string_view name, int64_t fallback) const;

  // The position of this value, for messages: "Item.tags.SS[2]"; empty for the whole document.
  std::string path() const;

 private:
  friend class JsonBuilder;
  JsonView(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
  const json_detail::Node& node() const;

  const JsonDocument* document_;
  uint32_t index_;
};

class JsonView::Iterator {
 public:
  JsonView operator*() const { return {document_, index_}; }
  Iterator& operator++();
  bool operator==(const Iterator& other) const { return index_ == other.index_; }

 private:
  friend class JsonView;
  Iterator(const JsonDocument* document, uint32_t index) : document_(document), index_(index) {}
  const JsonDocument* document_;
  uint32_t index_;
};

// A member that may be absent. Like a std::optional, but `*member` is a value of its own, so that
// `for (JsonView element : *body.find("List"))` is safe.
class JsonMember {
 public:
  JsonMember() = default;
  JsonMember(std::nullopt_t) {}               // NOLINT(google-explicit-constructor)
  JsonMember(JsonView view) : view_(view) {}  // NOLINT
  bool has_value() const { return view_.has_value(); }
  explicit operator bool() const { return view_.has_value(); }
  JsonView operator*() const { return *view_; }
  const JsonView* operator->() const { return &*view_; }
  operator std::optional<JsonView>() const { return view_; }  // NOLINT

 private:
  std::optional<JsonView> view_;
};

// Owns what parse() read; does not refer to the text that was parsed.
class JsonDocument {
 public:
  static constexpr size_t kMaxDepth = 128;
  static constexpr size_t kMaxNodes = 4u << 20;

  JsonDocument() = default;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  // Parses the whole document. Invalidates the views of the document before.
  Result<JsonView> parse(std::string_view json);

 private:
  friend class JsonView;
  friend class JsonView::Iterator;
  friend class JsonBuilder;
  void prepare(size_t text_bytes);

  std::vector<json_detail::Node> nodes_;
  std::unique_ptr<char[]> text_;  // Unescaped strings and numbers, one behind the other.
  size_t text_capacity_ = 0;
};

inline const json_detail::Node& JsonView::node() const {
  return document_->nodes_[index_];
}
inline JsonView::Iterator& JsonView::Iterator::operator++() {
  index_ = document_->nodes_[index_].end;
  return *this;
}

// Parts of a document as values. Rules and texts are the item store's; kValidation if no item may hold the value.
Result<Item> item_of(const JsonView& json);        // {"id":{"S":"x"},...}
Result<Value> attribute_of(const JsonView& json);  // {"S":"x"}
Result<Value> plain_value_of(
    const JsonView& json);  // Strings S, numbers N, booleans BOOL, null NULL, objects M, arrays L.

}  // namespace freshet
