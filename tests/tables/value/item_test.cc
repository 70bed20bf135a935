#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/limits.h"
#include "base/random.h"
#include "tables/value/billed.h"
#include "tables/value/item_ref.h"
#include "tables/value/nesting.h"
#include "tables/value/text.h"

namespace freshet {
namespace {

Value nested(size_t levels) {
  Value value("leaf");
  for (size_t i = 0; i < levels; ++i) {
    value = i % 2 ? Value(List{{std::move(value)}}) : Value(Map{{"m", std::move(value)}});
  }
  return value;
}

Item every_type() {
  return Item{{"s", "text"},
              {"empty", ""},
              {"n", Value::number(-12)},
              {"b", Binary{std::string("\0\xff", 2)}},
              {"yes", Value::boolean(true)},
              {"no", Value::boolean(false)},
              {"null", Null{}},
              {"m", Map{{"inner", Map{{"x", "y"}}}, {"none", Map{}}}},
              {"l", List{{Value("a"), Value::number(1), Value(List{})}}},
              {"ss", StringSet{{"a", "b"}}},
              {"ns", NumberSet{{Decimal(-1), Decimal(3)}}},
              {"bs", BinarySet{{"a", std::string("\xff\0", 2)}}},
              {"long", std::string(100'000, 'x')},
              {"deep", nested(limits::kMaxNesting)}};
}

std::string error_of(Value value, std::string_view where = {}) {
  auto done = normalize(value, where);
  if (done) return {};
  EXPECT_EQ(done.error().code, ErrorCode::kValidation);
  return done.error().message;
}

TEST(Map, KeepsNamesSortedAndUnique) {
  Map map{{"b", "1"}, {"a", "2"}, {"b", "3"}};
  ASSERT_EQ(map.size(), 2u);
  EXPECT_EQ(map.begin()->first, "a");
  EXPECT_EQ(map.string_or("b"), "3");
  EXPECT_EQ(map.string_or("c", "none"), "none");
  map.set("n", Value::number(5));
  EXPECT_EQ(map.int_or("n", 0), 5);
  EXPECT_EQ(map.int_or("a", 7), 7) << "not a number";
  map.set("n", Value(Decimal::parse("1.5").value()));
  EXPECT_EQ(map.int_or("n", 7), 7) << "not an integer";
  EXPECT_TRUE(map.erase("a"));
  EXPECT_FALSE(map.erase("a"));
  EXPECT_EQ(map.find("a"), nullptr);
  EXPECT_EQ(map, (Map{{"n", Decimal::parse("1.5").value()}, {"b", "3"}}));
}

TEST(Value, OrderOfScalars) {
  EXPECT_EQ(compare("a", "b"), std::partial_ordering::less);
  EXPECT_EQ(compare("\x7f", "\xc3\xa4"), std::partial_ordering::less) << "bytes are unsigned";
  EXPECT_EQ(compare("a", "a"), std::partial_ordering::equivalent);
  EXPECT_EQ(compare(Value::number(10), Value::number(9)), std::partial_ordering::greater);
  EXPECT_EQ(compare(Binary{"a"}, Binary{"ab"}), std::partial_ordering::less);
  EXPECT_EQ(compare("1", Value::number(1)), std::partial_ordering::unordered);
  EXPECT_EQ(compare(Value::boolean(true), Value::boolean(true)), std::partial_ordering::unordered);
}

TEST(Value, BilledSizesFollowTheGuide) {
  EXPECT_EQ(billed_size(Value("\xc3\xa4")), 2u);
  EXPECT_EQ(billed_size(Value(Null{})), 1u);
  EXPECT_EQ(billed_size(Value::boolean(false)), 1u);
  EXPECT_EQ(billed_size(Value(Map{})), 3u);
  EXPECT_EQ(billed_size(Value(List{})), 3u);
  EXPECT_EQ(billed_size(Value(Map{{"ab", "c"}})), 3u + 1 + 2 + 1);
  EXPECT_EQ(billed_size(Value(List{{Value("abc"), Value(Null{})}})), 3u + 1 + 3 + 1 + 1);
  EXPECT_EQ(billed_size(Value(StringSet{{"a", "bc"}})), 3u);
  EXPECT_EQ(billed_size(Value(NumberSet{{Decimal(1), Decimal(123)}})), 5u);
  EXPECT_EQ(billed_size(Item{{"id", "x"}, {"n", Value::number(42)}}), 3u + 3u);
}

TEST(Value, BilledSizesAreTheSameOnTheStoredForm) {
  const Item item{{"", "empty name"},
                  {"b", Binary{std::string(200, 'x')}},
                  {"l", List{{Value(Null{}), Value::boolean(true), Value(List{}), Value(Map{})}}},
                  {"m", Map{{"k", Map{{"deep", List{{Value::number(-42), Value(Null{})}}}}}}},
                  {"n", Decimal::parse("-1.2345e-100").value()},
                  {"ns", NumberSet{{Decimal(-5), Decimal(0), Decimal(1234567)}}},
                  {"ss", StringSet{{"a", "bc"}}},
                  {"zero", Value::number(0)}};
  EXPECT_EQ(billed_bytes(ItemRef::encode(item)), billed_size(item));
  EXPECT_EQ(billed_bytes(ItemRef::encode(Item{})), 0u);
  EXPECT_EQ(billed_bytes(ItemRef()), 0u);
  // The worst that may_exceed() has to know of.
  const Item nulls{{"l", List{std::vector<Value>(1000, Value(Null{}))}}};
  const auto encoded = ItemRef::encode(nulls);
  EXPECT_LE(billed_bytes(encoded), encoded.encoded().size() * kMostBilledPerByte);
  EXPECT_GT(billed_bytes(encoded), encoded.encoded().size() * 19 / 10);
}

TEST(Normalize, SortsSetsAndRefusesWhatNoItemMayHold) {
  Value set(StringSet{{"b", "a"}});
  ASSERT_TRUE(normalize(set, "x"));
  EXPECT_EQ(set, Value(StringSet{{"a", "b"}}));
  Value in_map(Map{{"l", List{{Value(NumberSet{{Decimal(2), Decimal(-1)}})}}}});
  ASSERT_TRUE(normalize(in_map, "x"));
  EXPECT_EQ(in_map, Value(Map{{"l", List{{Value(NumberSet{{Decimal(-1), Decimal(2)}})}}}}));

  const std::string prefix = "One or more parameter values were invalid: ";
  EXPECT_EQ(error_of(StringSet{}), prefix + "An string set  may not be empty");
  EXPECT_EQ(error_of(NumberSet{}), prefix + "An number set  may not be empty");
  EXPECT_EQ(error_of(BinarySet{}), prefix + "Binary sets should not be empty");
  EXPECT_EQ(error_of(StringSet{{"a", ""}}), "");  // Since May 2020.
  EXPECT_EQ(error_of(BinarySet{{""}}), "");
  EXPECT_EQ(error_of(StringSet{{"b", "a", "b"}}), prefix + "Input collection [b, a, b] contains duplicates.");
  EXPECT_EQ(error_of(BinarySet{{"a", "a"}}), prefix + "Input collection [YQ==, YQ==]of type BS contains duplicates.");
  EXPECT_EQ(error_of(NumberSet{{Decimal(1), Decimal(1)}}), "Input collection contains duplicates");
  EXPECT_EQ(error_of(NumberSet{}, "Item.tags"), prefix + "An number set  may not be empty (at Item.tags)");
  EXPECT_LT(error_of(StringSet{{std::string(100'000, 'x'), std::string(100'000, 'x')}}).size(), 4000u);
}

TEST(Normalize, NestingEndsAtThe32ndLevel) {
  EXPECT_EQ(error_of(nested(kMaxContainers)), "");
  EXPECT_EQ(error_of(nested(kMaxContainers + 1)),
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond "
            "supported limit");
}

TEST(ItemRef, HoldsEveryType) {
  Item item = every_type();
  ItemRef ref = ItemRef::encode(item);
  EXPECT_EQ(ref.decode(), item);
  for (const auto& [name, value] : item) {
    auto found = ref.find(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->type(), value.type()) << name;
    EXPECT_EQ(found->decode(), value) << name;
  }
  EXPECT_FALSE(ref.find("absent"));
  EXPECT_FALSE(ref.find(""));
  EXPECT_EQ(ref.find("s")->bytes(), "text");
  EXPECT_EQ(ref.find("b")->bytes(), std::string_view("\0\xff", 2));
  EXPECT_EQ(ref.find("n")->number(), Decimal(-12));
  std::string ordered;
  Decimal(-12).append_ordered(ordered);
  EXPECT_EQ(ref.find("n")->key_bytes(), ordered);

  auto copy = ItemRef::from_encoded(ref.encoded());
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_TRUE(copy->same_bytes(ref));
  EXPECT_EQ(decode_item(ref.encoded()).value(), item);
  EXPECT_EQ(ItemRef::encode(Item{}).decode(), Item{});
}

TEST(ItemRef, EncodingIsCanonical) {
  Decimal number = Decimal::parse("1.50").value();
  Decimal same = Decimal::parse("15e-1").value();
  ItemRef a = ItemRef::encode(Item{{"x", "1"}, {"y", StringSet{{"a", "b"}}}, {"n", number}});
  ItemRef b = ItemRef::encode(Item{{"y", StringSet{{"b", "a", "b"}}}, {"n", same}, {"x", "1"}});
  EXPECT_TRUE(a.same_bytes(b));
}

// The page docs/formats.md shows these bytes.
TEST(ItemRef, EncodingIsTheDocumentedOne) {
  Item item{{"id", "a1"}, {"n", Value::number(-120)}, {"ok", Value::boolean(true)}, {"tags", StringSet{{"x", "y"}}}};
  const unsigned char kBytes[] = {4,                                                       // Entries.
                                  2, 'i', 'd', 0,   2,    'a',  '1',                       // S
                                  1, 'n', 1,   3,   0x3d, 0xfc, 0xd7,                      // N
                                  2, 'o', 'k', 3,   1,                                     // BOOL
                                  4, 't', 'a', 'g', 's',  7,    5,    2, 1, 'x', 1, 'y'};  // SS
  EXPECT_EQ(ItemRef::encode(item).encoded(), std::string_view(reinterpret_cast<const char*>(kBytes), sizeof kBytes));
}

TEST(ItemRef, SharesOneBlock) {
  ItemRef a = ItemRef::encode(Item{{"x", "1"}});
  {
    ItemRef b = a;
    EXPECT_EQ(a.identity(), b.identity());
    b.set_place(7, 3);
    ItemRef c = std::move(b);
    EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move)
    b = c;
    b = std::move(c);
  }
  EXPECT_EQ(a.creation(), 7u);
  EXPECT_EQ(a.segment(), 3u);
  EXPECT_FALSE(ItemRef());
  EXPECT_GE(a.memory(), a.encoded().size() + 24);
  EXPECT_LE(a.memory(), a.encoded().size() + 64);
}

TEST(ItemRef, IsSharedBetweenThreads) {
  ItemRef shared = ItemRef::encode(every_type());
  Item item = shared.decode();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([shared, &item, &wrong] {
      for (int i = 0; i < 200; ++i) {
        ItemRef mine = shared;
        ItemRef other = std::move(mine);
        wrong += other.find("n")->number() != Decimal(-12);
        wrong += ItemRef::encode(item).encoded() != other.encoded();
      }
    });
  }
  shared = ItemRef();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// --- Properties ---

std::string random_text(Random& random) {
  std::string text;
  for (size_t n = random.below(20); n > 0; --n) {
    text += random.below(8) ? static_cast<char>('a' + random.below(26)) : '\x01';
  }
  if (random.below(6) == 0) text += "\xf0\x9f\x98\x80";
  if (random.below(12) == 0) text.append(200, 'z');
  return text;
}

Decimal random_number(Random& random) {
  auto digits = static_cast<int64_t>(random.next() >> random.below(64));
  auto exponent = static_cast<int64_t>(random.below(60)) - 30;
  return Decimal::parse(std::to_string(digits) + "e" + std::to_string(exponent)).value();
}

template <class T, class Make>
std::vector<T> random_set(Random& random, const Make& make) {
  std::vector<T> members;
  for (size_t n = 1 + random.below(4); n > 0; --n) members.push_back(make(random));
  std::sort(members.begin(), members.end(), [](const T& a, const T& b) { return a < b; });
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

Value random_value(Random& random, size_t depth);

Map random_map(Random& random, size_t depth) {
  Map map;
  for (size_t n = random.below(5); n > 0; --n) map.set(random_text(random), random_value(random, depth));
  return map;
}

Value random_value(Random& random, size_t depth) {
  switch (random.below(depth < 4 ? 10 : 8)) {
    case 0:
      return Value(random_number(random));
    case 1:
      return Value(Binary{random_text(random) + '\xff'});
    case 2:
      return Value::boolean(random.below(2) == 0);
    case 3:
      return Value(Null{});
    case 4:
      return Value(StringSet{random_set<std::string>(random, random_text)});
    case 5:
      return Value(NumberSet{random_set<Decimal>(random, random_number)});
    case 6:
      return Value(BinarySet{random_set<std::string>(random, random_text)});
    case 7:
      return Value(random_text(random));
    case 8:
      return Value(random_map(random, depth + 1));
    default: {
      List list;
      for (size_t n = random.below(4); n > 0; --n) list.elements.push_back(random_value(random, depth + 1));
      return Value(std::move(list));
    }
  }
}

TEST(ItemRefProperty, DecodeIsTheInverseOfEncode) {
  constexpr uint64_t kSeed = 42;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 5'000; ++round) {
    Item item = random_map(random, 0);
    ItemRef ref = ItemRef::encode(item);
    ASSERT_EQ(ref.decode(), item);
    auto copy = ItemRef::from_encoded(ref.encoded());
    ASSERT_TRUE(copy) << copy.error().message;
    ASSERT_TRUE(copy->same_bytes(ItemRef::encode(copy->decode())));
    for (const auto& [name, value] : item) ASSERT_EQ(ref.find(name)->decode(), value);
  }
}

TEST(ItemRefProperty, DamagedBytesAreRefusedOrCanonical) {
  constexpr uint64_t kSeed = 43;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string bytes;
    append_encoded(bytes, random_map(random, 0));
    auto& hit = bytes[random.below(bytes.size())];
    hit = static_cast<char>(hit ^ (1 << random.below(8)));
    if (random.below(5) == 0) bytes.resize(random.below(bytes.size() + 1));
    if (random.below(9) == 0) bytes += static_cast<char>(random.next());
    auto ref = ItemRef::from_encoded(bytes);
    if (!ref) {
      ASSERT_EQ(ref.error().code, ErrorCode::kCorruption);
      ++refused;
      continue;
    }
    ASSERT_EQ(ItemRef::encode(ref->decode()).encoded(), bytes) << "one item, one encoding";
  }
  EXPECT_GT(refused, 10'000);
}

TEST(ItemRef, RefusesForgedBytes) {
  const std::string kForged[] = {
      "",                                                  // Not even a count.
      {'\x01'},                                            // One entry, none there.
      {'\0', 'x'},                                         // A tail.
      {'\x80', '\0'},                                      // A count in more bytes than needed.
      {1, 1, 'a', 10},                                     // No such type.
      {1, 1, 'a', 3, 2},                                   // Neither true nor false.
      {2, 1, 'a', 4, 1, 'a', 4},                           // The same name twice.
      {2, 1, 'b', 4, 1, 'a', 4},                           // Names out of order.
      {1, 1, 'a', 0, '\xff', '\xff', '\xff', '\xff', 15},  // A length of 4 GiB.
      {1, 1, 'a', 7, 5, 2, 1, 'b', 1, 'a'},                // A set out of order.
      {1, 1, 'a', 1, 1, 0x7f},                             // No number.
  };
  for (const auto& bytes : kForged) EXPECT_FALSE(ItemRef::from_encoded(bytes)) << testing::PrintToString(bytes);
  std::string deep;
  append_encoded(deep, Item{{"a", nested(100)}});
  EXPECT_FALSE(ItemRef::from_encoded(deep)) << "recursion is bounded";
}

TEST(Text, Utf8) {
  for (std::string_view good : {"", "plain", "\xc3\xa4", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x9f\x98\x80",
                                "\xf4\x8f\xbf\xbf", "eight bytes and \xc3\xa4 then more"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (std::string_view bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80",
                               "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "eight bytes and \xff"}) {
    EXPECT_FALSE(is_utf8(bad)) << testing::PrintToString(bad);
  }
}

TEST(Text, Base64) {
  Random random(5);
  for (size_t n = 0; n < 200; ++n) {
    std::string bytes;
    for (size_t i = 0; i < n; ++i) bytes += static_cast<char>(random.next());
    std::string text;
    append_base64(text, bytes);
    std::string back = "kept";
    ASSERT_EQ(append_from_base64(back, text), "");
    ASSERT_EQ(back, "kept" + bytes);
  }
  auto error = [](std::string_view text) {
    std::string out;
    std::string problem = append_from_base64(out, text);
    EXPECT_EQ(out, "");
    return problem;
  };
  EXPECT_EQ(error("YQ="), "Base64 encoded length is expected a multiple of 4 bytes but found: 3");
  EXPECT_EQ(error("YQ-="), "Invalid Base64 character: '-'");
  EXPECT_EQ(error("Y==="), "Invalid Base64 character: '='");
  EXPECT_EQ(error("===="), "Invalid Base64 character: '='");
  EXPECT_EQ(error("YR=="), "Invalid last non-pad Base64 character dectected");
  EXPECT_EQ(error("YWF="), "Invalid last non-pad Base64 character dectected");
}

// Few names are looked for otherwise than many.
TEST(ItemRef, PicksAreWhatFindFinds) {
  Random random(11);
  for (const size_t wanted : {1u, 5u, 16u, 17u, 200u}) {
    for (const size_t there : {0u, 1u, 30u, 300u}) {
      Item item;
      for (size_t i = 0; i < there; ++i) item.set("k" + std::to_string(random.below(400)), Value::number(1));
      std::vector<std::string> names;
      for (size_t i = 0; i < wanted; ++i) names.push_back("k" + std::to_string(random.below(400)));
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      const ItemRef ref = ItemRef::encode(item);
      std::vector<std::string_view> values(names.size());
      ref.pick(names, values.data());
      for (size_t i = 0; i < names.size(); ++i) {
        const auto found = ref.find(names[i]);
        EXPECT_EQ(values[i], found ? found->encoded() : std::string_view()) << names[i] << " of " << there;
      }
    }
  }
}

// Short and long ones, many that begin alike, some with bytes above 127.
std::string random_name(Random& random) {
  static const char* const kBegins[] = {
      "", "a", "lease", "task", "taskCreated", "\xc3\xa9", "a long name that goes on"};
  std::string name = kBegins[random.below(std::size(kBegins))];
  const size_t more = random.below(8) == 0 ? random.below(200) : random.below(4);
  for (size_t i = 0; i < more; ++i) name += static_cast<char>('a' + random.below(3));
  return name;
}

Value random_value(Random& random) {
  switch (random.below(6)) {
    case 0:
      return Value(Null{});
    case 1:
      return Value::boolean(random.below(2) == 0);
    case 2:
      return Value(std::string(random.below(300), 'x'));
    case 3:
      return Value(Map{{"inner", Value::number(static_cast<int64_t>(random.below(100)))}});
    default:
      return Value::number(static_cast<int64_t>(random.next() >> random.below(64)));
  }
}

Item random_item(Random& random, size_t most) {
  Item item;
  for (size_t n = random.below(most + 1); n > 0; --n) item.set(random_name(random), random_value(random));
  return item;
}

// Against the decoded item: edits, lookups, picks.
TEST(ItemRefProperty, WalksAgreeWithTheDecodedItem) {
  constexpr uint64_t kSeed = 23;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 3'000; ++round) {
    Item item = random_item(random, random.below(8) == 0 ? 200 : 12);
    const ItemRef ref = ItemRef::encode(item);
    const Item wanted = random_item(random, 12);
    std::vector<std::string> names;
    std::vector<ItemEdit> edits;
    for (const auto& [name, value] : wanted) {
      names.push_back(name);
      edits.push_back({name, random.below(3) == 0 ? nullptr : &value});
    }
    for (size_t i = 0; i < item.size() && random.below(3) > 0; ++i) {
      const std::string& name = (item.begin() + random.below(item.size()))->first;
      if (!wanted.contains(name)) edits.push_back({name, nullptr});
    }
    std::sort(edits.begin(), edits.end(), [](const ItemEdit& a, const ItemEdit& b) { return a.name < b.name; });
    const auto same = [](const ItemEdit& a, const ItemEdit& b) { return a.name == b.name; };
    edits.erase(std::unique(edits.begin(), edits.end(), same), edits.end());
    std::vector<std::string_view> picked(names.size());
    ref.pick(names, picked.data());
    for (size_t i = 0; i < names.size(); ++i) {
      const auto found = ref.find(names[i]);
      const Value* there = item.find(names[i]);
      ASSERT_EQ(found.has_value(), there != nullptr) << "round " << round << ": " << names[i];
      if (there) {
        ASSERT_EQ(found->decode(), *there) << "round " << round << ": " << names[i];
      }
      ASSERT_EQ(picked[i], found ? found->encoded() : std::string_view()) << "round " << round << ": " << names[i];
    }
    const ItemRef after = ref.with(edits);
    Item expected = item;
    for (const auto& edit : edits) {
      if (edit.value) {
        expected.set(edit.name, *edit.value);
      } else {
        expected.erase(edit.name);
      }
    }
    ASSERT_EQ(after.encoded(), ItemRef::encode(expected).encoded()) << "round " << round;
    ASSERT_EQ(after.decode(), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace freshet
