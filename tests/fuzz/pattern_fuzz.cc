// Filter patterns of subscriptions and mappings, on an event.
//
// An input is two lines: the pattern, and the event that it looks at (plain JSON). With more work allowed, the answer
// stays the same.
#include "streams/pattern.h"
#include "tables/value/json.h"
#include "tests/fuzz/target.h"

namespace freshet::fuzz {
namespace {

constexpr size_t kWork = 20'000;

void match(const Pattern& pattern, const Map& event) {
  MatchWork little(kWork);
  const bool matches = pattern.matches(event, little);
  if (little.spent()) return;
  MatchWork much(10 * kWork);
  require(pattern.matches(event, much) == matches && !much.spent(), "another answer with more work allowed");
  Map more = event;
  more.set("a field that no pattern names", Value("x"));
  if (pattern.looks_at("a field that no pattern names")) return;
  MatchWork again(10 * kWork);
  require(pattern.matches(more, again) == matches || again.spent(), "a field that does not count changes the answer");
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  using namespace freshet::fuzz;
  const std::string_view input = as_text(data, size);
  const size_t end = input.find('\n');
  Map event;
  if (end != std::string_view::npos) {
    const auto value = parse_plain_json(input.substr(end + 1));
    if (value && value->is(Type::kMap)) event = *value->get_if<Map>();
  }
  for (const auto numbers : {PatternNumbers::kNumbers, PatternNumbers::kAlsoInText}) {
    const auto pattern = Pattern::parse(input.substr(0, end), numbers);
    require(pattern.has_value() || !pattern.error().message.empty(), "an error without a message");
    if (pattern) match(*pattern, event);
  }
  return 0;
}
