#include "functions/queue/fixture_states.h"

#include <algorithm>
#include <cctype>

#include "functions/queue/attributes.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet {
namespace {

std::string hint_at(std::string_view status) {
  std::string upper(status);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return did_you_mean(upper, {state::kAll.begin(), state::kAll.end()});
}

Result<void> check_state(const ItemRef& task, const std::string& place) {
  if (!task) return {};
  const auto status = text_of(task, attribute::kStatus);
  if (status.empty() || std::find(state::kAll.begin(), state::kAll.end(), status) != state::kAll.end()) return {};
  std::string states;
  for (const auto one : state::kAll) states.append(states.empty() ? "" : ", ").append(one);
  return invalid(place + ": taskStatus '" + std::string(status) + "' is no state" + hint_at(status) + "; there are " +
                 states);
}

}  // namespace

Result<void> check_states(const Fixture& fixture) {
  for (size_t i = 0; i < fixture.snapshot.size(); ++i) {
    if (auto ok = check_state(ItemRef::encode(fixture.snapshot[i]), fixture.place_of_item(i)); !ok) return ok;
  }
  for (size_t i = 0; i < fixture.records.size(); ++i) {
    for (const ItemRef* image : {&fixture.records[i].before, &fixture.records[i].after}) {
      if (auto ok = check_state(*image, fixture.place_of_record(i)); !ok) return ok;
    }
  }
  return {};
}

}  // namespace freshet
