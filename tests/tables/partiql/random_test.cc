// Garbage of all kinds: it is an error with a text, or a statement that the store can read or refuse.
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/sim/seeds.h"
#include "tests/tables/partiql/support.h"

namespace freshet {
namespace {

constexpr const char* kPieces[] = {"SELECT ",
                                   "* ",
                                   "FROM ",
                                   "WHERE ",
                                   "INSERT INTO ",
                                   "VALUE ",
                                   "UPDATE ",
                                   "SET ",
                                   "REMOVE ",
                                   "DELETE ",
                                   "EXISTS(",
                                   "RETURNING ",
                                   "ALL ",
                                   "OLD ",
                                   "NEW ",
                                   "MODIFIED ",
                                   "ORDER BY ",
                                   "DESC ",
                                   "AND ",
                                   "OR ",
                                   "NOT ",
                                   "IN ",
                                   "BETWEEN ",
                                   "IS ",
                                   "MISSING ",
                                   "NULL ",
                                   "LIMIT ",
                                   "t ",
                                   "p ",
                                   "s ",
                                   "a",
                                   "\"q\" ",
                                   "'x' ",
                                   "1 ",
                                   "-",
                                   ".5e3 ",
                                   "? ",
                                   "(",
                                   ") ",
                                   "[",
                                   "] ",
                                   "{",
                                   "} ",
                                   "<<",
                                   ">> ",
                                   ",",
                                   ".",
                                   ":",
                                   ";",
                                   "= ",
                                   "<> ",
                                   "< ",
                                   ">= ",
                                   "+ ",
                                   "size(",
                                   "set_add(",
                                   "begins_with(",
                                   "list_append(",
                                   "attribute_exists(",
                                   "-- c\n",
                                   "/* ",
                                   "*/ ",
                                   "'",
                                   "\"",
                                   "\xC3\xA4",
                                   "true ",
                                   "1e9999999999 ",
                                   "p = 'a' AND s = 1 ",
                                   "SELECT * FROM t WHERE p = 'a' ",
                                   "UPDATE t SET a = 1 WHERE p = 'a' AND s = 2 "};

std::string random_text(Random& random) {
  std::string text;
  const uint64_t length = random.below(24) + 1;
  for (uint64_t i = 0; i < length; ++i) {
    if (random.below(40) == 0) {
      text += static_cast<char>(random.below(256));
    } else {
      text += kPieces[random.below(std::size(kPieces))];
    }
  }
  return text;
}

// A sound statement with a piece of it lost, doubled or exchanged.
std::string damaged(Random& random) {
  constexpr const char* kSound[] = {
      "SELECT a, b.c[1] FROM \"t\".\"l\" WHERE p IN ['a', 'b'] AND r BETWEEN 'x' AND 'y' AND NOT c.d = <<1, 2>> ORDER "
      "BY p",
      "UPDATE t SET a = list_append(a, [1, {'k': null}]), b = b - -1 SET c = set_add(c, <<'x'>>) REMOVE d[0] WHERE p = "
      "'a' AND "
      "s = 1 AND (e IS MISSING OR size(f) > 3) RETURNING MODIFIED NEW *",
      "INSERT INTO t VALUE {'p': 'it''s', 's': -1.5e-3, 'l': [true, {}, <<1>>]}",
      "DELETE FROM t WHERE p = 'a' AND s = 1 AND begins_with(g, 'x') = false RETURNING ALL OLD *",
      "FROM t WHERE p = 'a' AND s = 2 SET a = 1"};
  std::string text = kSound[random.below(std::size(kSound))];
  for (uint64_t i = random.below(3) + 1; i > 0; --i) {
    const size_t at = random.below(text.size());
    const size_t length = std::min<size_t>(random.below(8), text.size() - at);
    switch (random.below(3)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      default:
        text.replace(at, length, kPieces[random.below(std::size(kPieces))]);
    }
    if (text.empty()) return "x";
  }
  return text;
}

void check(const std::string& text) {
  const std::string shown = partiql_test::parsed(text, {Value("x")});
  ASSERT_FALSE(shown.empty());
  const auto statement = partiql::parse_statement(text, {});
  if (!statement) {
    EXPECT_EQ(statement.error().code, ErrorCode::kValidation);
    EXPECT_FALSE(statement.error().message.empty());
    return;
  }
  partiql::ExpressionWriter writer(*statement);
  if (statement->where) {
    // A statement that was parsed is valid in the store's language, as far as its syntax tells.
    const auto compiled = compile_condition(writer.condition(*statement->where), ExpressionKind::kCondition);
    EXPECT_TRUE(compiled || compiled.error().message.find("Syntax error") == std::string::npos)
        << compiled.error().message;
  }
  if (!statement->actions.empty()) {
    const auto compiled = compile_update(writer.update(statement->actions));
    EXPECT_TRUE(compiled || compiled.error().message.find("Syntax error") == std::string::npos)
        << compiled.error().message;
  }
  for (const std::string& outcome : {partiql_test::planned(text), partiql_test::planned(text, true),
                                     partiql_test::written(text, false), partiql_test::written(text, true)}) {
    EXPECT_FALSE(outcome.empty());
  }
}

TEST(PartiqlRandomTest, NothingBreaksTheParser) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Random random(seed);
    for (int i = 0; i < 500; ++i) {
      const std::string text = random.below(2) == 0 ? random_text(random) : damaged(random);
      SCOPED_TRACE(text);
      check(text);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace freshet
