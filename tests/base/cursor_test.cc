#include "base/cursor.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(Cursor, LeadsBackToItsPlace) {
  const std::string places[] = {"a", std::string("\0\xff", 2), "a long place / with # all kinds of \"text\""};
  for (const std::string& place : places) {
    const std::string cursor = make_cursor("members", place);
    EXPECT_EQ(cursor.find_first_not_of("0123456789abcdef"), std::string::npos) << "needs no quotes and no escapes";
    EXPECT_EQ(place_of_cursor("members", cursor), place);
  }
  EXPECT_EQ(make_cursor("members", ""), "") << "there is no further page";
  EXPECT_EQ(place_of_cursor("members", ""), "") << "the first page";
}

TEST(Cursor, RefusesWhatNoPageEndedWith) {
  const std::string good = make_cursor("members", "agent-1");
  std::string typo = good;
  typo[2] = typo[2] == '0' ? '1' : '0';
  for (const std::string& cursor :
       {std::string("bad"), std::string("agent-1"), std::string("00"), std::string("ff00ff00"), typo, good.substr(2),
        good.substr(0, good.size() - 1), good + "00", good + " "}) {
    const auto place = place_of_cursor("members", cursor);
    ASSERT_FALSE(place) << cursor;
    EXPECT_EQ(place.error().code, ErrorCode::kValidation);
    EXPECT_NE(place.error().message.find("or leave it out for the first page"), std::string::npos);
  }
  EXPECT_FALSE(place_of_cursor("requests", good)) << "that of another list";
}

}  // namespace
}  // namespace freshet
