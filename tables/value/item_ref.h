// The stored form of an item: one immutable, reference-counted block of compact encoded bytes.
//
// Encoding is canonical: equal items have equal bytes (names sorted, sets sorted, numbers in their ordered form), so
// "a write that changed nothing" is a memcmp. The layout is in docs/formats.md.
// Threading: the count is atomic; a block may be read and released on any thread, and is made on any.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "tables/value/value.h"

namespace freshet {

// An encoded attribute value inside a block: a view, valid while the block lives.
class ValueView {
 public:
  explicit ValueView(std::string_view encoded) : encoded_(encoded) {}
  Type type() const;
  std::string_view encoded() const { return encoded_; }
  std::string_view bytes() const;  // For S and B: the content.
  Decimal number() const;          // For N.
  // For S, N and B: bytes whose memcmp order is the order of the values (S and B as they are, N in ordered form). This
  // is how sort keys are compared.
  std::string_view key_bytes() const;
  Value decode() const;

 private:
  std::string_view encoded_;
};

// A change of one attribute: the new value, or null for its removal.
struct ItemEdit {
  std::string_view name;
  const Value* value = nullptr;
};

class ItemRef {
 public:
  ItemRef() = default;  // No item.
  static ItemRef encode(const Item& item);
  // Copies checked bytes (e.g. from the log). kCorruption if they are not an item's encoding.
  static Result<ItemRef> from_encoded(std::string_view encoded);

  ItemRef(const ItemRef& other) : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  ItemRef(ItemRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  ItemRef& operator=(ItemRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~ItemRef() {
    if (block_) release();
  }

  explicit operator bool() const { return block_ != nullptr; }
  std::string_view encoded() const { return {block_->bytes(), block_->size}; }
  Item decode() const;
  // The attribute's encoded value, found by a linear walk over the names.
  std::optional<ValueView> find(std::string_view name) const;
  // Finds several attributes in one walk. `names` is sorted and unique; the encoded value of the i-th goes to
  // values[i], which stays unchanged if the item lacks it.
  void pick(std::span<const std::string> names, std::string_view* values) const;
  // A copy with these edits (sorted by name, unique); all other attributes keep their encoding.
  ItemRef with(std::span<const ItemEdit> edits) const;
  bool same_bytes(const ItemRef& other) const { return encoded() == other.encoded(); }
  // Bytes of memory that the block takes from the allocator.
  size_t memory() const;

  // The values below are set by the engine when the item is committed; loop thread only; not part of the encoding.
  uint64_t creation() const { return block_->creation; }  // Creation sequence: survives updates.
  uint32_t segment() const { return block_->segment; }    // Log segment that holds the newest copy.
  void set_place(uint64_t creation, uint32_t segment) const {
    block_->creation = creation;
    block_->segment = segment;
  }
  // Prefetches the first bytes of an item that will be read soon.
  void prefetch() const {
    for (size_t line = 0; line < 4; ++line) __builtin_prefetch(reinterpret_cast<const char*>(block_) + 64 * line);
  }
  // Identity of the block, for index entries that hold plain pointers while the main table owns the reference.
  const void* identity() const { return block_; }

 private:
  struct Block {
    std::atomic<uint32_t> references;
    uint32_t size;
    uint64_t creation;
    uint32_t segment;
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };
  explicit ItemRef(Block* block) : block_(block) {}
  static ItemRef allocate(size_t size);
  void release();  // Must not be called on a null ref.
  Block* block_ = nullptr;
};

// ItemRef::find() in an item's encoding that is known to be whole (checked before, or by the log's checksum).
std::optional<ValueView> find_attribute(std::string_view encoded_item, std::string_view name);

// Appends the encoding of an item (without a block), e.g. keys into the log, or of one value.
void append_encoded(std::string& out, const Item& item);
void append_encoded(std::string& out, const Value& value);
// Appends the encoding of the item's attributes with these names (sorted, unique, all present).
void append_encoded(std::string& out, const ItemRef& item, std::span<const std::string_view> names);
Result<Item> decode_item(std::string_view encoded);

}  // namespace freshet
