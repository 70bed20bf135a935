#include "tables/value/item_ref.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/allocation.h"
#include "base/check.h"
#include "tables/value/encoding.h"
#include "tables/value/text.h"

namespace freshet {
namespace {

using namespace encoding;

constexpr size_t kMaxVarintBytes = 5;
constexpr size_t kKeptScratch = 1u << 20;

// --- Writing ---

void append_text(std::string& out, std::string_view text) {
  append_varint(out, text.size());
  out.append(text);
}

// Returns how many bytes it took, kMaxVarintBytes at most.
size_t write_varint(char* out, size_t value) {
  size_t n = 0;
  for (; value >= 0x80; value >>= 7) out[n++] = static_cast<char>(value | 0x80);
  out[n++] = static_cast<char>(value);
  return n;
}

// Appends what `write` writes with its length before it. The length takes one byte until it turns out longer.
template <class Write>
void append_sized(std::string& out, const Write& write) {
  size_t start = out.size();
  out += '\0';
  write();
  size_t length = out.size() - start - 1;
  if (length < 0x80) {
    out[start] = static_cast<char>(length);
    return;
  }
  std::string prefix;
  append_varint(prefix, length);
  out.replace(start, 1, prefix);
}

// Sets are written sorted and without duplicates, whoever made them.
template <class T, class Write>
void append_set(std::string& out, const std::vector<T>& members, const Write& write) {
  auto not_rising = [](const T& a, const T& b) { return !(a < b); };
  if (std::adjacent_find(members.begin(), members.end(), not_rising) == members.end()) {
    append_varint(out, members.size());
    for (const T& member : members) write(member);
    return;
  }
  std::vector<T> sorted = members;
  std::sort(sorted.begin(), sorted.end(), [](const T& a, const T& b) { return a < b; });
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  append_varint(out, sorted.size());
  for (const T& member : sorted) write(member);
}

void append_number(std::string& out, const Decimal& number) {
  append_sized(out, [&] { number.append_ordered(out); });
}

void append_content(std::string& out, const Value& value) {
  auto text = [&](const std::string& member) { append_text(out, member); };
  auto number = [&](const Decimal& member) { append_number(out, member); };
  switch (value.type()) {
    case Type::kMap:
      append_encoded(out, *value.get_if<Map>());
      break;
    case Type::kList: {
      const auto& elements = value.get_if<List>()->elements;
      append_varint(out, elements.size());
      for (const auto& element : elements) append_encoded(out, element);
      break;
    }
    case Type::kStringSet:
      append_set(out, value.get_if<StringSet>()->members, text);
      break;
    case Type::kNumberSet:
      append_set(out, value.get_if<NumberSet>()->members, number);
      break;
    case Type::kBinarySet:
      append_set(out, value.get_if<BinarySet>()->members, text);
      break;
    default:
      break;
  }
}

// --- Checking ---

bool read_varint(std::string_view& in, size_t& value) {
  if (!in.empty() && static_cast<unsigned char>(in[0]) < 0x80) [[likely]] {
    value = static_cast<unsigned char>(in[0]);
    in.remove_prefix(1);
    return true;
  }
  value = 0;
  for (size_t i = 0; i < kMaxVarintBytes && i < in.size(); ++i) {
    auto byte = static_cast<unsigned char>(in[i]);
    value |= static_cast<size_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    in.remove_prefix(i + 1);
    return i == 0 || byte != 0;  // Shortest form only.
  }
  return false;
}

bool read_text(std::string_view& in, std::string_view& text) {
  size_t length = 0;
  if (!read_varint(in, length) || length > in.size()) return false;
  text = take_bytes(in, length);
  return true;
}

bool read_number(std::string_view text, Decimal& number) {
  return Decimal::read_ordered(text, number) && text.empty();
}

bool check_map(std::string_view in, size_t depth);

bool check_list(std::string_view in, size_t depth);

bool check_set(std::string_view in, Type type) {
  size_t count = 0;
  if (!read_varint(in, count)) return false;
  std::string_view last;
  for (size_t i = 0; i < count; ++i) {
    std::string_view member;
    Decimal number;
    if (!read_text(in, member)) return false;
    if (i > 0 && !(last < member)) return false;
    if (type == Type::kNumberSet && !read_number(member, number)) return false;
    last = member;
  }
  return in.empty();
}

bool check_value(std::string_view& in, size_t depth) {
  if (in.empty() || static_cast<unsigned char>(in[0]) > static_cast<unsigned char>(Type::kBinarySet)) return false;
  Type type = type_of(in);
  in.remove_prefix(1);
  if (type == Type::kNull) return true;
  if (type == Type::kBool) {
    if (in.empty() || static_cast<unsigned char>(in[0]) > 1) return false;
    in.remove_prefix(1);
    return true;
  }
  std::string_view content;
  if (!read_text(in, content)) return false;
  Decimal number;
  switch (type) {
    case Type::kString:
      return true;
    case Type::kNumber:
      return read_number(content, number);
    case Type::kMap:
      return check_map(content, depth + 1);
    case Type::kList:
      return check_list(content, depth + 1);
    case Type::kStringSet:
    case Type::kNumberSet:
    case Type::kBinarySet:
      return check_set(content, type);
    default:
      return true;
  }
}

bool check_list(std::string_view in, size_t depth) {
  size_t count = 0;
  if (depth > kMaxDepth || !read_varint(in, count)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!check_value(in, depth)) return false;
  }
  return in.empty();
}

bool check_map(std::string_view in, size_t depth) {
  size_t count = 0;
  if (depth > kMaxDepth || !read_varint(in, count)) return false;
  std::string_view last;
  for (size_t i = 0; i < count; ++i) {
    std::string_view name;
    if (!read_text(in, name) || (i > 0 && !(last < name)) || !is_utf8(name)) return false;
    last = name;
    if (!check_value(in, depth)) return false;
  }
  return in.empty();
}

Result<void> check_item(std::string_view encoded) {
  if (encoded.size() <= UINT32_MAX && check_map(encoded, 0)) return {};
  return fail(ErrorCode::kCorruption,
              "these " + std::to_string(encoded.size()) + " bytes are not the encoding of an item");
}

// --- Reading ---

Decimal number_from_digits(std::string_view bytes) {
  Decimal number;
  FRESHET_CHECK(Decimal::read_ordered(bytes, number), "an item in memory holds a damaged number");
  return number;
}

Map decode_map(std::string_view in) {
  Map map;
  map.reserve(take_varint(in));
  while (!in.empty()) {
    std::string_view name = take_text(in);
    map.append_sorted(std::string(name), ValueView(take_value(in)).decode());
  }
  return map;
}

List decode_list(std::string_view in) {
  List list;
  list.elements.reserve(take_varint(in));
  while (!in.empty()) list.elements.push_back(ValueView(take_value(in)).decode());
  return list;
}

std::vector<std::string> decode_texts(std::string_view in) {
  std::vector<std::string> members;
  members.reserve(take_varint(in));
  while (!in.empty()) members.emplace_back(take_text(in));
  return members;
}

NumberSet decode_numbers(std::string_view in) {
  NumberSet set;
  set.members.reserve(take_varint(in));
  while (!in.empty()) set.members.push_back(number_from_digits(take_text(in)));
  return set;
}

bool is_same_name(std::string_view a, std::string_view b) {
  return encoding::is_same_name(a.data(), a.size(), b.data(), b.size());
}

// The first byte of a name for comparisons. An empty name sorts before all others.
int first_byte(std::string_view name) {
  return name.empty() ? -1 : static_cast<unsigned char>(name.front());
}

// True if `a` sorts before `b`.
bool is_before(std::string_view a, std::string_view b) {
  const int x = first_byte(a);
  const int y = first_byte(b);
  return x != y ? x < y : a < b;
}

}  // namespace

void append_encoded(std::string& out, const Value& value) {
  out += static_cast<char>(value.type());
  switch (value.type()) {
    case Type::kString:
      append_text(out, *value.get_if<std::string>());
      break;
    case Type::kNumber:
      append_number(out, *value.get_if<Decimal>());
      break;
    case Type::kBinary:
      append_text(out, value.get_if<Binary>()->bytes);
      break;
    case Type::kBool:
      out += static_cast<char>(*value.get_if<bool>());
      break;
    case Type::kNull:
      break;
    default:
      append_sized(out, [&] { append_content(out, value); });
  }
}

void append_encoded(std::string& out, const Item& item) {
  append_varint(out, item.size());
  for (const auto& [name, value] : item) {
    append_text(out, name);
    append_encoded(out, value);
  }
}

void append_encoded(std::string& out, const ItemRef& item, std::span<const std::string_view> names) {
  append_varint(out, names.size());
  for (const auto name : names) {
    append_text(out, name);
    out.append(item.find(name)->encoded());
  }
}

Result<Item> decode_item(std::string_view encoded) {
  if (auto checked = check_item(encoded); !checked) return fail(std::move(checked.error()));
  return decode_map(encoded);
}

Type ValueView::type() const {
  return type_of(encoded_);
}

std::string_view ValueView::bytes() const {
  return content_of(encoded_);
}

Decimal ValueView::number() const {
  return number_from_digits(content_of(encoded_));
}

std::string_view ValueView::key_bytes() const {
  return content_of(encoded_);
}

Value ValueView::decode() const {
  std::string_view content = content_of(encoded_);
  switch (type()) {
    case Type::kString:
      return Value(content);
    case Type::kNumber:
      return Value(number_from_digits(content));
    case Type::kBinary:
      return Value(Binary{std::string(content)});
    case Type::kBool:
      return Value::boolean(content[0] != 0);
    case Type::kNull:
      return Value(Null{});
    case Type::kMap:
      return Value(decode_map(content));
    case Type::kList:
      return Value(decode_list(content));
    case Type::kStringSet:
      return Value(StringSet{decode_texts(content)});
    case Type::kNumberSet:
      return Value(decode_numbers(content));
    case Type::kBinarySet:
      return Value(BinarySet{decode_texts(content)});
  }
  return {};
}

ItemRef ItemRef::allocate(size_t size) {
  static_assert(sizeof(Block) == 24, "two million blocks: every byte here is two megabytes");
  FRESHET_CHECK(size <= UINT32_MAX, "an item of 4 GiB");
  void* memory = ::operator new(sizeof(Block) + size);
  auto* block = new (memory) Block{};
  block->references.store(1, std::memory_order_relaxed);
  block->size = static_cast<uint32_t>(size);
  return ItemRef(block);
}

void ItemRef::release() {
  // The last reference needs no locked subtraction: nobody else is there to count.
  const bool last = block_->references.load(std::memory_order_acquire) == 1 ||
                    block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (!last) return;
  block_->~Block();
  ::operator delete(block_);
}

ItemRef ItemRef::encode(const Item& item) {
  thread_local std::string scratch;
  scratch.clear();
  append_encoded(scratch, item);
  ItemRef result = allocate(scratch.size());
  std::memcpy(result.block_->bytes(), scratch.data(), scratch.size());
  if (scratch.capacity() > kKeptScratch) scratch = std::string();
  return result;
}

Result<ItemRef> ItemRef::from_encoded(std::string_view encoded) {
  if (auto checked = check_item(encoded); !checked) return fail(std::move(checked.error()));
  ItemRef result = allocate(encoded.size());
  std::memcpy(result.block_->bytes(), encoded.data(), encoded.size());
  return result;
}

Item ItemRef::decode() const {
  return decode_map(encoded());
}

std::optional<ValueView> ItemRef::find(std::string_view name) const {
  return find_attribute(encoded(), name);
}

std::optional<ValueView> find_attribute(std::string_view encoded_item, std::string_view name) {
  const char* at = encoded_item.data();
  const char* const end = at + encoded_item.size();
  const int first = first_byte(name);
  take_varint(at);
  while (at != end) {
    const size_t length = take_varint(at);
    const std::string_view here(at, length);
    at += length;
    const char* const behind = behind_value(at);
    if (is_same_name(here, name)) return ValueView({at, static_cast<size_t>(behind - at)});
    if (first_byte(here) > first) return std::nullopt;
    at = behind;
  }
  return std::nullopt;
}

void ItemRef::pick(std::span<const std::string> names, std::string_view* values) const {
  const std::string_view in = encoded();
  const char* at = in.data();
  const char* const end = at + in.size();
  take_varint(at);
  // Names are sorted in both. Each name is searched behind the last one that was found, and names that begin with a
  // lower byte than the item's current one are skipped. So few names are compared, and finding many names takes no
  // longer than one walk over both.
  for (size_t next = 0; next < names.size() && at != end;) {
    const size_t length = take_varint(at);
    const std::string_view here(at, length);
    const char* const value = at + length;
    at = behind_value(value);
    const int first = first_byte(here);
    while (next < names.size() && first_byte(names[next]) < first) ++next;
    for (; next < names.size() && first_byte(names[next]) == first; ++next) {
      if (is_same_name(names[next], here)) {
        values[next++] = {value, static_cast<size_t>(at - value)};
        break;
      }
      if (names[next] > here) break;
    }
  }
}

ItemRef ItemRef::with(std::span<const ItemEdit> edits) const {
  thread_local std::string scratch;
  scratch.clear();
  const char* at = encoded().data();
  const char* const end = at + encoded().size();
  size_t count = take_varint(at);
  size_t next = 0;
  const auto take_edit = [&] {
    const ItemEdit& edit = edits[next++];
    if (!edit.value) return;
    append_text(scratch, edit.name);
    append_encoded(scratch, *edit.value);
    ++count;
  };
  const char* kept = at;  // Old entries from here on are not copied yet.
  while (at != end && next < edits.size()) {
    const char* const entry = at;
    const size_t length = take_varint(at);
    const std::string_view here(at, length);
    at = behind_value(at + length);
    const bool replaced = is_same_name(edits[next].name, here);
    if (!replaced && !is_before(edits[next].name, here)) continue;
    scratch.append(kept, static_cast<size_t>(entry - kept));
    kept = entry;
    while (next < edits.size() && is_before(edits[next].name, here)) take_edit();
    if (next == edits.size() || !is_same_name(edits[next].name, here)) continue;
    take_edit();
    --count;
    kept = at;
  }
  scratch.append(kept, static_cast<size_t>(end - kept));
  while (next < edits.size()) take_edit();

  char prefix[kMaxVarintBytes];
  const size_t prefix_size = write_varint(prefix, count);
  ItemRef result = allocate(prefix_size + scratch.size());
  char* const out = std::copy_n(prefix, prefix_size, result.block_->bytes());
  std::memcpy(out, scratch.data(), scratch.size());
  if (scratch.capacity() > kKeptScratch) scratch = std::string();
  return result;
}

// Computes the size, because asking the allocator (malloc_usable_size) would touch further memory.
size_t ItemRef::memory() const {
  return block_ ? allocated_bytes(sizeof(Block) + block_->size) : 0;
}

}  // namespace freshet
