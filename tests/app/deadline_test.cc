// --deadline of `freshet put`.
#include "app/cli/deadline.h"

#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

std::string read(std::string_view text) {
  const auto deadline = parse_deadline(text);
  if (!deadline) return deadline.error().message;
  return deadline->in_ms > 0 ? "in " + std::to_string(deadline->in_ms) : "at " + std::to_string(deadline->at_ms);
}

TEST(Deadline, IsADurationATimeOrANumberOfMilliseconds) {
  EXPECT_EQ(read("5s"), "in 5000");
  EXPECT_EQ(read("500ms"), "in 500");
  EXPECT_EQ(read("5m"), "in 300000");
  EXPECT_EQ(read("1h30m"), "in 5400000");
  EXPECT_EQ(read("366d"), "in 31622400000");
  EXPECT_EQ(read("2026-12-01T10:00Z"), "at 1796119200000");
  EXPECT_EQ(read("2026-12-01T10:00:00.250+01:00"), "at 1796115600250");
  EXPECT_EQ(read("4102444800000"), "at 4102444800000") << "as ever";
  EXPECT_EQ(read("253402300799999"), "at 253402300799999");
}

TEST(Deadline, SaysWhatWouldBeRight) {
  EXPECT_EQ(read("5"),
            "'5' has no unit: write 5s for seconds from now or 5ms for milliseconds from now (a number alone is the "
            "time in milliseconds since 1970)");
  EXPECT_EQ(read("1764000000").find("'1764000000' has no unit"), 0u);
  EXPECT_EQ(read("2026-12-01T10:00"),
            "'2026-12-01T10:00' has no zone: write 2026-12-01T10:00Z for UTC, or 2026-12-01T10:00+02:00");
  EXPECT_EQ(read("2026-13-01T10:00Z"),
            "'2026-13-01T10:00Z' is no time: write it like 2026-12-01T10:00Z or 2026-12-01T10:00:30+01:00");
  EXPECT_EQ(read("253402300800000"), "'253402300800000' is later than the year 9999, in milliseconds");
  EXPECT_EQ(read("99999999999999999999999"), "'99999999999999999999999' is later than the year 9999, in milliseconds");
  for (const char* wrong : {"", "soon", "5 s", "5x", "0s", "367d", "-5s", "1e3s", "now", "2026-12-01"}) {
    EXPECT_FALSE(parse_deadline(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace freshet::cli
