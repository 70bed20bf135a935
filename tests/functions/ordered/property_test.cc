// Random records, delivered in random order, repeatedly and late, by as many writers as there are deliveries, on a
// store that answers at once or late: the end is that of a plain model which takes them by their timestamps. The seed
// is the whole bug report.
#include <algorithm>
#include <map>

#include "tables/value/json.h"
#include "tests/functions/ordered/ordered_world.h"

namespace freshet::ordered {
namespace {

constexpr int64_t kRetentionMs = 20'000;
constexpr int64_t kSkewMs = 5'000;
constexpr int64_t kSpanMs = 30'000;      // Timestamps are within it.
constexpr int64_t kEndMs = 60'000;       // The last repetition comes before.
constexpr int64_t kToleranceMs = 2'500;  // A write that is younger than the retention by this much is surely accepted.
constexpr int kKeys = 3;

struct Record {
  Kind kind = Kind::kPut;
  int64_t at_ms = 0;
  int key = 0;
  int64_t content = 0;
};

struct Delivery {
  const Record* record;
  int64_t arrives_ms;
};

class Interleaving {
 public:
  Interleaving(uint64_t seed, StoreKind kind)
      : random_(seed), made_(make_world(kind, seed)), start_ms_(world_.now_ms()) {
    Settings& settings = definition_.settings;
    settings.name = settings.table = "Records";
    settings.retention = milliseconds(kRetentionMs);
    settings.max_skew = milliseconds(kSkewMs);
    if (random_.below(2) == 0) settings.update_attributes = {"Note"};
    if (random_.below(2) == 0) settings.ties = Ties::kContent;
    auto opened = world_.wait(GuardedTable::open(*world_.tables, world_.clock, definition_));
    EXPECT_TRUE(opened) << opened.error().message;
    table_ = std::move(*opened);
  }

  void run() {
    make_records();
    end_ms_ = kEndMs + static_cast<int64_t>(random_.below(30'000));
    std::vector<Async<void>> writers;
    for (const Delivery& one : deliveries()) writers.push_back(deliver(*this, one));
    world_.pass(milliseconds(start_ms_ + end_ms_ - world_.now_ms()));
    for (auto& writer : writers) EXPECT_TRUE(writer.is_ready());
  }

  void check() {
    EXPECT_EQ(wrong_outcome_, "");
    std::map<std::string, Item> there;
    ScanInput scan;
    scan.table = "Records";
    auto all = world_.wait(world_.store->scan(std::move(scan)));
    ASSERT_TRUE(all);
    for (const ItemRef& item : all->items) {
      Item read = item.decode();
      there[std::string(read.string_or("PK"))] = read;
    }
    for (int key = 0; key < kKeys; ++key) {
      const auto expected = model_of(key);
      const auto found = there.find(std::string(key_item(key).string_or("PK")));
      const std::string wanted = expected ? as_json(comparable(*expected)) : "";
      const std::string is = found != there.end() ? as_json(comparable(found->second)) : "";
      EXPECT_EQ(is, wanted) << "key " << key << history(key);
      auto seen = world_.wait(table_->get({key_item(key)}));
      ASSERT_TRUE(seen);
      EXPECT_EQ(static_cast<bool>(*seen), expected && !expected->contains("Deleted")) << "key " << key << history(key);
    }
  }

 private:
  static Item key_item(int key) { return {{"PK", Value("k" + std::to_string(key))}}; }
  static std::string as_json(const Item& item) {
    std::string out;
    append_plain_json(out, item);
    return out;
  }
  // An update that arrives when the tombstone before it has expired finds no trace of that delete; one that came sooner
  // has kept its time. Nothing that is so old is taken any more, so that makes no difference.
  Item comparable(Item item) const {
    const bool old = item.int_or("Timestamp", INT64_MAX - kRetentionMs) + kRetentionMs <= start_ms_ + end_ms_;
    if (old && item.contains("UpdateTimestamp")) {
      item.erase("Timestamp");
      item.erase("Tie");
    }
    return item;
  }
  Value stamp(const Record& r) const { return Value::number(start_ms_ + r.at_ms); }
  static Item put_item(const Record& r) {
    Item item = key_item(r.key);
    item.set("Content", Value::number(r.content));
    if (r.content % 2 == 0) item.set("Note", Value("of put " + std::to_string(r.content)));
    return item;
  }
  static Map update_set(const Record& r) {
    return r.content % 3 == 0 ? Map{} : Map{{"Note", Value("update " + std::to_string(r.content))}};
  }

  void make_records() {
    const bool ties = definition_.settings.ties == Ties::kContent;
    const uint64_t kinds = definition_.settings.update_attributes.empty() ? 2 : 3;
    const uint64_t count = 6 + random_.below(10);
    for (uint64_t i = 0; i < count; ++i) {
      Record r;
      r.kind = std::array{Kind::kPut, Kind::kDelete, Kind::kUpdate}[random_.below(kinds)];
      r.key = static_cast<int>(random_.below(kKeys));
      r.content = static_cast<int64_t>(i);
      // With ties there are many; else no two have the same.
      r.at_ms = ties ? static_cast<int64_t>(random_.below(6)) * (kSpanMs / 6)
                     : static_cast<int64_t>(random_.below(kSpanMs / 100)) * 100 + static_cast<int64_t>(i);
      records_.push_back(r);
    }
  }

  // Each in time once; some again at any time, also when they are too old. Many at nearly the same moment.
  std::vector<Delivery> deliveries() {
    std::vector<Delivery> out;
    for (const Record& r : records_) {
      const auto arrives = [&](int64_t from, int64_t to) {
        from = std::max<int64_t>(from, 0);
        const auto when = from + static_cast<int64_t>(random_.below(static_cast<uint64_t>(to - from)));
        return std::max(from, when / 1000 * 1000 + static_cast<int64_t>(random_.below(15)));
      };
      out.push_back({&r, arrives(r.at_ms - kSkewMs, r.at_ms + kRetentionMs - kToleranceMs)});
      for (uint64_t again = random_.below(3); again > 0; --again) {
        out.push_back({&r, arrives(r.at_ms - kSkewMs, kEndMs - 100)});
      }
    }
    return out;
  }

  static Async<void> deliver(Interleaving& self, Delivery delivery) {
    const Record& r = *delivery.record;
    co_await sleep_for(self.world_.scheduler, milliseconds(delivery.arrives_ms));
    const int64_t age = self.world_.now_ms() - self.start_ms_ - r.at_ms;
    OrderedResult result;
    if (r.kind == Kind::kPut) {
      OrderedPut input{put_item(r), self.stamp(r)};
      result = co_await self.table_->put(std::move(input));
    } else if (r.kind == Kind::kDelete) {
      OrderedDelete input{key_item(r.key), self.stamp(r)};
      result = co_await self.table_->erase(std::move(input));
    } else {
      OrderedUpdate input{key_item(r.key), update_set(r), {}, self.stamp(r)};
      if (input.set.empty()) input.remove = {"Note"};
      result = co_await self.table_->update(std::move(input));
    }
    const bool too_old = result.code == OrderedCode::kTooOld;
    const bool right = result.ok() || result.code == OrderedCode::kOlder || too_old;
    const bool old_enough = age >= kRetentionMs - kToleranceMs;
    const bool far_too_old = age >= kRetentionMs;
    if (!right || (too_old && !old_enough) || (!too_old && far_too_old)) {
      self.wrong_outcome_ = std::string(code_name(result.code)) + ": " + result.detail;
    }
  }

  // By timestamp; of equal ones a delete before an update before a put decides, then the digest of what is written.
  std::optional<Item> model_of(int key) const {
    struct Ranked {
      int64_t at;
      int kind;
      std::string tie;
      const Record* record;
      auto rank() const { return std::tie(at, kind, tie); }
    };
    std::vector<Ranked> in_order;
    for (const Record& r : records_) {
      if (r.key != key) continue;
      Item item = put_item(r);
      item.set("Timestamp", stamp(r));
      const int kind = r.kind == Kind::kPut ? 0 : r.kind == Kind::kUpdate ? 1 : 2;
      in_order.push_back({r.at_ms, kind, kind == 1 ? tie_of_update(update_set(r)) : tie_of_put(item), &r});
    }
    std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
    const bool content = definition_.settings.ties == Ties::kContent;
    std::optional<Item> state;
    int64_t expires_ms = INT64_MAX;
    for (const Ranked& one : in_order) {
      if (one.kind != 1) {
        state = one.kind == 0 ? put_item(*one.record) : key_item(key);
        state->set("Timestamp", stamp(*one.record));
        if (content) state->set("Tie", Value(one.kind == 0 ? one.tie : "~"));
        expires_ms = INT64_MAX;
        if (one.kind == 0) continue;
        state->set("Deleted", Value::boolean(true));
        expires_ms = (start_ms_ + one.at + kRetentionMs + 999) / 1000 * 1000;
        state->set("TTL", Value::number(expires_ms / 1000));
        continue;
      }
      if (!state) state = key_item(key);
      expires_ms = INT64_MAX;
      state->erase("Deleted");
      state->erase("TTL");
      state->erase("Note");
      for (const auto& [name, value] : update_set(*one.record)) state->set(name, value);
      state->set("UpdateTimestamp", stamp(*one.record));
      if (content) state->set("UpdateTie", Value(one.tie));
    }
    if (start_ms_ + end_ms_ >= expires_ms) return {};
    return state;
  }

  std::string history(int key) const {
    std::string out;
    for (const Record& r : records_) {
      if (r.key != key) continue;
      out += std::string("\n  ") + std::array{"put", "delete", "update"}[static_cast<size_t>(r.kind)] + " " +
             std::to_string(r.content) + " at " + std::to_string(r.at_ms);
    }
    return out;
  }

  Random random_;
  std::unique_ptr<QueueWorld> made_;
  QueueWorld& world_ = *made_;
  const int64_t start_ms_;
  int64_t end_ms_ = 0;
  Definition definition_{{}, {{"PK", Type::kString}, {}}};
  std::unique_ptr<GuardedTable> table_;
  std::vector<Record> records_;
  std::string wrong_outcome_;
};

class OrderedProperty : public ::testing::TestWithParam<StoreKind> {};
INSTANTIATE_TEST_SUITE_P(Stores, OrderedProperty,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(OrderedProperty, AnyInterleavingEndsAsTheOrderOfTimestamps) {
  for (const uint64_t seed : test_seeds(5'000)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Interleaving interleaving(seed, GetParam());
    interleaving.run();
    interleaving.check();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace freshet::ordered
