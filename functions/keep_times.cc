#include "functions/keep_times.h"

#include <algorithm>

#include "base/number_text.h"
#include "functions/queue/attributes.h"

namespace freshet {

namespace {

constexpr int64_t kLongest = int64_t{366} * 24 * 3600 * 1000;
constexpr std::array kNames = {state::kSuccess, state::kFailure, state::kDead, state::kShed, state::kCancelled};

std::optional<int64_t> time_of(std::string_view text) {
  int64_t ms = 0;
  const bool is_whole = read_number_in(text, ms);
  const bool is_plain = text == "0" || (!text.empty() && text[0] >= '1' && text[0] <= '9');
  if (!is_whole || !is_plain || ms > kLongest) return std::nullopt;
  return ms;
}

tl::unexpected<Error> wrong(std::string_view text, const std::string& why) {
  return fail(
      ErrorCode::kValidation,
      "KEEP_MS is '" + std::string(text) + "': " + why +
          "; write milliseconds for all ended tasks, as 3600000, or by outcome, as SUCCESS=60000,DEAD=86400000");
}

std::string names() {
  std::string out;
  for (const auto name : kNames) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

}  // namespace

Result<KeepTimes> KeepTimes::parse(std::string_view text) {
  KeepTimes out;
  std::array<bool, kStates> is_named{};
  std::optional<int64_t> others;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = part.find('=');
    const auto ms = time_of(equals == std::string_view::npos ? part : part.substr(equals + 1));
    if (!ms) {
      return wrong(text, "'" + std::string(part) + "' must be a whole number of milliseconds from 0 to " +
                             std::to_string(kLongest) + (equals == std::string_view::npos ? "" : " behind its name"));
    }
    if (equals == std::string_view::npos) {
      if (others) return wrong(text, "two numbers have no outcome before them");
      others = ms;
      continue;
    }
    const std::string_view name = part.substr(0, equals);
    const auto known = std::find(kNames.begin(), kNames.end(), name);
    if (known == kNames.end()) {
      return wrong(text, "'" + std::string(name) + "' is no state in which tasks end (" + names() + ")");
    }
    const auto index = static_cast<size_t>(known - kNames.begin());
    if (is_named[index]) return wrong(text, std::string(name) + " is there twice");
    is_named[index] = true;
    out.ms_[index] = *ms;
  }
  for (size_t i = 0; i < kStates; ++i) {
    if (others && !is_named[i]) out.ms_[i] = *others;
  }
  return out;
}

std::string KeepTimes::text() const {
  const bool same = std::all_of(ms_.begin(), ms_.end(), [this](int64_t ms) { return ms == ms_[0]; });
  if (same) return std::to_string(ms_[0]);
  std::string out;
  for (size_t i = 0; i < kStates; ++i) {
    if (ms_[i] == 0) continue;
    out.append(out.empty() ? "" : ",").append(kNames[i]).append("=").append(std::to_string(ms_[i]));
  }
  return out;
}

std::optional<milliseconds> KeepTimes::of(std::string_view state) const {
  const auto known = std::find(kNames.begin(), kNames.end(), state);
  if (known == kNames.end()) return std::nullopt;
  const int64_t ms = ms_[static_cast<size_t>(known - kNames.begin())];
  return ms == 0 ? std::nullopt : std::optional(milliseconds(ms));
}

}  // namespace freshet
