// The leases that a queue times.
#include "functions/queue/core/lease_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "functions/queue/policy/key_limits.h"
#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

// A limit that looks whether its key may start again must not find the call that has just ended.
TEST(LeaseBook, ACallEndsBeforeAnybodyIsToldThatThereIsRoom) {
  LeaseBook book;
  Item item{{"taskId", Value("a")}, {"group", Value("g")}};
  std::weak_ptr<KeyCall> call;
  std::vector<bool> was_over;
  const auto lease = [&](const std::string& token) {
    Lease out;
    out.token = token;
    out.mine = true;
    out.task = ItemRef::encode(item);
    out.key_call = std::make_shared<KeyCall>(1.0, 0);
    call = out.key_call;
    return out;
  };
  book.start("a", lease("t1"), BootTime(seconds(1)));
  std::weak_ptr<KeyCall> first = call;
  book.on_group_change([&](std::string_view, uint64_t in_work) {
    if (in_work == 0) was_over.push_back(call.expired());
  });
  item.set("group", Value("h"));
  book.start("a", lease("t2"), BootTime(seconds(2)));
  EXPECT_TRUE(first.expired());
  was_over.clear();
  book.forget("a", "t2");
  EXPECT_EQ(was_over, std::vector<bool>{true});
}

TEST(LeaseBook, TimesFromFirstSightOfTokenAndBeat) {
  LeaseBook book;
  BootTime start{};
  Lease lease{"n:i:1", 0, 1000_ms, false, task({})};
  book.observe("t", lease, start);
  book.observe("t", lease, start + 900_ms);
  EXPECT_EQ(book.next_end(), start + 1000_ms) << "the same beat changes nothing";
  lease.beat = 1;
  book.observe("t", lease, start + 900_ms);
  EXPECT_TRUE(book.ended(start + 1899_ms, 10).empty());
  EXPECT_EQ(book.ended(start + 1900_ms, 10), std::vector<std::string>{"t"});
  book.postpone("t", start + 5000_ms);
  EXPECT_TRUE(book.ended(start + 1900_ms, 10).empty());
  book.forget("t", "another token");
  EXPECT_EQ(book.size(), 1u);
  book.forget("t", lease.token);
  EXPECT_EQ(book.next_end(), BootTime::max());
  EXPECT_EQ(book.size(), 0u);
}

// A heartbeat is in the store before its answer is here, and a late store shows older ones.
TEST(LeaseBook, ALeaseOfItsOwnStaysItsOwnWhateverBeatIsRead) {
  LeaseBook book;
  BootTime start{};
  book.start("t", Lease{"l", 3, 1000_ms, true, {}}, start);
  book.observe("t", Lease{"l", 4, 1000_ms, false, {}}, start + 500_ms);
  EXPECT_EQ(book.mine(), 1u);
  EXPECT_EQ(book.next_end(), start + 1500_ms);
  book.observe("t", Lease{"l", 3, 1000_ms, false, {}}, start + 900_ms);
  EXPECT_EQ(book.next_end(), start + 1500_ms) << "an older beat says nothing new";
  book.observe("t", Lease{"m", 0, 1000_ms, false, {}}, start + 900_ms);
  EXPECT_EQ(book.mine(), 0u) << "another's claim";
}

TEST(LeaseBook, NamesTheFirstToEndFirstAndCountsItsOwn) {
  LeaseBook book;
  BootTime start{};
  for (int i = 0; i < 5; ++i) {
    book.start("t" + std::to_string(i), Lease{"l", 0, milliseconds(100 * (5 - i)), i % 2 == 0, {}}, start);
  }
  EXPECT_EQ(book.mine(), 3u);
  EXPECT_EQ(book.ended(start + 1000_ms, 2), (std::vector<std::string>{"t4", "t3"}));
  book.start("t4", Lease{"m", 0, 2000_ms, false, {}}, start);
  EXPECT_EQ(book.mine(), 2u);
  EXPECT_EQ(book.ended(start + 300_ms, 9), (std::vector<std::string>{"t3", "t2"}));
}

}  // namespace
}  // namespace freshet
