#include "functions/runners/function_answer.h"

#include "functions/runners/http_runner.h"
#include "tables/value/json_reader.h"

namespace freshet {

namespace {

constexpr size_t kMaxResultBytes = 64u << 10;
constexpr size_t kMaxErrorBytes = 1024;
constexpr int64_t kLongest = int64_t{366} * 24 * 3600 * 1000;
constexpr std::string_view kRetryAfter = "retryAfterMs";
constexpr std::string_view kReason = "reason";

std::string_view text_member(const JsonView& object, std::string_view name) {
  const auto member = object.find(name);
  return member && member->is(JsonKind::kString) ? member->text() : std::string_view();
}

// {"retryAfterMs": …} and at most a reason beside it: any other object is a result, whatever its members are called.
bool is_release(const JsonView& answer) {
  if (!answer.is(JsonKind::kObject) || !answer.find(kRetryAfter)) return false;
  for (const JsonView member : answer) {
    if (member.name() != kRetryAfter && member.name() != kReason) return false;
  }
  return true;
}

RunResult release_of(const JsonView& answer) {
  RunResult out;
  const auto value = plain_value_of(*answer.find(kRetryAfter));
  const auto* number = value ? value->get_if<Decimal>() : nullptr;
  const int64_t ms = number ? number->floor_int64() : -1;
  if (ms < 0 || ms > kLongest) {
    out.kind = RunResult::Kind::kFailure;
    out.error = "the function answered with a retryAfterMs that is no number of milliseconds from 0 to " +
                std::to_string(kLongest);
    return out;
  }
  out.kind = RunResult::Kind::kBounced;
  out.refusal = DownstreamRefusal::kRelease;
  out.delay = milliseconds(ms);
  const auto reason = clean_text(text_member(answer, kReason), kMaxErrorBytes);
  out.reason = "the function gave it back" + (reason.empty() ? "" : ": " + reason);
  return out;
}

}  // namespace

std::string error_text(std::string_view document) {
  JsonDocument json;
  const auto root = json.parse(document);
  if (!root || !root->is(JsonKind::kObject)) return clean_text(document, kMaxErrorBytes);
  const auto type = text_member(*root, "errorType");
  const auto message = text_member(*root, "errorMessage");
  if (type.empty() && message.empty()) return clean_text(document, kMaxErrorBytes);
  std::string out(type);
  if (!type.empty() && !message.empty()) out += ": ";
  return clean_text(out.append(message), kMaxErrorBytes);
}

RunResult answer_of(std::string_view payload) {
  if (payload.find(kRetryAfter) != std::string_view::npos) {
    JsonDocument json;
    const auto root = json.parse(payload);
    if (root && is_release(*root)) return release_of(*root);
  }
  RunResult out;
  out.result = kept_result(payload, kMaxResultBytes);
  return out;
}

}  // namespace freshet
