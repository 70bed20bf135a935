// The history of a queue: an hour by the second, a day by the minute, from readings of rising counts.
#include "runtime/api/queue_series.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

constexpr auto kInTime = static_cast<size_t>(QueueFlow::kInTime);

BootTime at(double seconds_since_boot) {
  return BootTime(std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds_since_boot)));
}

QueueReading reading(uint64_t in_time, uint64_t pending = 0) {
  QueueReading out;
  out.flows[kInTime] = in_time;
  out.pending = pending;
  return out;
}

std::vector<int> column(const SeriesSlice& slice) {
  std::vector<int> out;
  for (const SeriesPoint& point : slice.points)
    out.push_back(point.known ? static_cast<int>(point.flows[kInTime]) : -1);
  return out;
}

TEST(QueueSeries, TheFirstReadingOnlySaysWhereCountsBegin) {
  QueueSeries series;
  EXPECT_TRUE(series.last(SeriesStep::kSecond, 10).points.empty());
  series.add(reading(1'000), at(100));
  EXPECT_TRUE(series.last(SeriesStep::kSecond, 10).points.empty());
  EXPECT_TRUE(series.last(SeriesStep::kMinute, 10).points.empty());
}

TEST(QueueSeries, APointHasWhatHappenedInItsSecondAndHowTheQueueWasAtItsEnd) {
  QueueSeries series;
  series.add(reading(1'000), at(100));
  series.add(reading(1'003, 7), at(101));
  series.add(reading(1'008, 9), at(102.2));
  const SeriesSlice slice = series.last(SeriesStep::kSecond, 10);
  EXPECT_EQ(slice.first, 100);
  EXPECT_EQ(column(slice), (std::vector<int>{3, 5}));
  EXPECT_EQ(slice.points[0].pending, 7u);
  EXPECT_EQ(slice.points[1].pending, 9u);
  EXPECT_EQ(column(series.last(SeriesStep::kSecond, 1)), std::vector<int>{5});
  EXPECT_EQ(series.last(SeriesStep::kSecond, 1).first, 101);
}

TEST(QueueSeries, ASecondWithoutAReadingIsUnknownAndItsCountsAreInTheNext) {
  QueueSeries series;
  series.add(reading(0), at(100));
  series.add(reading(1), at(101));
  series.add(reading(9), at(104));
  EXPECT_EQ(column(series.last(SeriesStep::kSecond, 10)), (std::vector<int>{1, -1, -1, 8}));
}

TEST(QueueSeries, ASecondReadingInASecondIsPassedOver) {
  QueueSeries series;
  series.add(reading(0), at(100));
  series.add(reading(1), at(101));
  series.add(reading(5), at(101.5));
  series.add(reading(6), at(102));
  EXPECT_EQ(column(series.last(SeriesStep::kSecond, 10)), (std::vector<int>{1, 5}));
}

TEST(QueueSeries, ACountThatHasFallenBeginsAnew) {
  QueueSeries series;
  series.add(reading(500), at(100));
  series.add(reading(0), at(101));  // The table was made anew.
  series.add(reading(4), at(102));
  EXPECT_EQ(column(series.last(SeriesStep::kSecond, 10)), (std::vector<int>{0, 4}));
}

TEST(QueueSeries, ItKeepsAnHourBySecondAndNoMore) {
  QueueSeries series;
  for (int i = 0; i <= 4'000; ++i) series.add(reading(static_cast<uint64_t>(i) * 2), at(1'000 + i));
  const SeriesSlice slice = series.last(SeriesStep::kSecond, 1'000'000);
  ASSERT_EQ(slice.points.size(), QueueSeries::kSeconds);
  EXPECT_EQ(slice.first, 1'000 + 4'000 - static_cast<int64_t>(QueueSeries::kSeconds));
  for (const SeriesPoint& point : slice.points) ASSERT_EQ(point.flows[kInTime], 2u);
}

TEST(QueueSeries, AMinuteHasTheSumOfItsSecondsAndTheLastGoesOn) {
  QueueSeries series;
  // From the beginning of minute 2 on.
  for (uint64_t i = 0; i <= 150; ++i) series.add(reading(i, i), at(120 + static_cast<double>(i)));
  const SeriesSlice slice = series.last(SeriesStep::kMinute, 10);
  EXPECT_EQ(slice.first, 2);
  EXPECT_EQ(column(slice), (std::vector<int>{60, 60, 30}));
  EXPECT_EQ(slice.points[1].pending, 120u);
  EXPECT_EQ(column(series.last(SeriesStep::kMinute, 2)), (std::vector<int>{60, 30}));
  EXPECT_EQ(series.last(SeriesStep::kMinute, 2).first, 3);
  EXPECT_EQ(column(series.last(SeriesStep::kMinute, 1)), std::vector<int>{30});
}

TEST(QueueSeries, MinutesThatNobodyReadAreUnknown) {
  QueueSeries series;
  series.add(reading(0), at(120));
  series.add(reading(1), at(121));
  series.add(reading(2), at(300.5));  // Three minutes later.
  const SeriesSlice slice = series.last(SeriesStep::kMinute, 10);
  EXPECT_EQ(slice.first, 2);
  EXPECT_EQ(column(slice), (std::vector<int>{1, -1, 1}));
}

TEST(QueueSeries, ItKeepsADayByMinute) {
  QueueSeries series;
  for (uint64_t i = 0; i <= 1'500; ++i) series.add(reading(i), at(60 * static_cast<double>(i) + 1));
  EXPECT_EQ(series.last(SeriesStep::kMinute, 10'000).points.size(), QueueSeries::kMinutes + 1);
  EXPECT_EQ(series.last(SeriesStep::kMinute, QueueSeries::kMinutes).points.size(), QueueSeries::kMinutes);
}

TEST(QueueSeries, AfterAPauseLongerThanAnHourNothingOldIsShown) {
  QueueSeries series;
  series.add(reading(0), at(100));
  series.add(reading(1), at(101));
  series.add(reading(2), at(100'000));
  const SeriesSlice slice = series.last(SeriesStep::kSecond, 10'000);
  EXPECT_EQ(slice.first, 99'999);
  EXPECT_EQ(column(slice), std::vector<int>{1});
}

TEST(SeriesBook, HasAHistoryForAtMostSoManyQueues) {
  SeriesBook book;
  for (size_t i = 0; i < SeriesBook::kMostQueues + 2; ++i) book.add("q" + std::to_string(i), reading(0), at(1));
  EXPECT_NE(book.find("q0"), nullptr);
  EXPECT_EQ(book.find("q" + std::to_string(SeriesBook::kMostQueues)), nullptr);
  EXPECT_EQ(book.find("nothing"), nullptr);
}

std::vector<std::string> numbered(size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back("q" + std::to_string(i));
  return out;
}

void read_chosen(SeriesBook& book, const std::vector<std::string>& living) {
  for (const std::string& name : book.choose(living)) book.add(name, reading(0), at(1));
}

TEST(SeriesBook, ChoosesNoQueueThatHasNoPlace) {
  SeriesBook book;
  const auto living = numbered(SeriesBook::kMostQueues + 2);
  EXPECT_EQ(book.choose(living), numbered(SeriesBook::kMostQueues));
  read_chosen(book, living);
  EXPECT_EQ(book.choose(living), numbered(SeriesBook::kMostQueues));
}

TEST(SeriesBook, AQueueThatIsGoneLosesItsPlaceWhenAnotherNeedsIt) {
  SeriesBook book;
  auto living = numbered(SeriesBook::kMostQueues);
  read_chosen(book, living);
  std::erase(living, "q3");
  read_chosen(book, living);
  EXPECT_NE(book.find("q3"), nullptr) << "no queue needed the place";
  living.push_back("new");
  EXPECT_EQ(book.choose(living), living);
  EXPECT_EQ(book.find("q3"), nullptr);
  read_chosen(book, living);
  EXPECT_NE(book.find("new"), nullptr);
  for (const std::string& name : living) EXPECT_NE(book.find(name), nullptr) << name;
}

TEST(SeriesBook, ANewQueueWithoutAPlaceGetsNoOneElses) {
  SeriesBook book;
  auto living = numbered(SeriesBook::kMostQueues);
  read_chosen(book, living);
  living.insert(living.begin(), "a");
  EXPECT_EQ(book.choose(living), numbered(SeriesBook::kMostQueues));
}

}  // namespace
}  // namespace freshet
