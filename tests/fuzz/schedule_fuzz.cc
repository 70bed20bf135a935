// Schedule expressions: rate(), cron() and at(). The times at which one fires rise, and its text gives the same again.
//
// An input is an expression.
#include "runtime/deploy/schedule_expression.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  using namespace freshet::fuzz;
  const auto expression = ScheduleExpression::parse(as_text(data, size));
  if (!expression) {
    require(!expression.error().message.empty(), "an error without a message");
    show(expression.error().message);
    return 0;
  }
  const auto again = ScheduleExpression::parse(expression->text());
  require(again && *again == *expression, "its own text is another expression", expression->text());
  for (const int64_t from : {int64_t{0}, int64_t{951'782'399}, int64_t{1'767'225'600}, int64_t{7'000'000'000}}) {
    WallTime at{seconds(from)};
    for (int fired = 0; fired < 5; ++fired) {
      const auto next = expression->next_fire(at, WallTime{seconds(1'700'000'000)});
      if (!next) break;
      require(*next > at, "it fires in the past", expression->text());
      at = *next;
    }
  }
  return 0;
}
