#include "wire/http/refusal_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tables/value/json_reader.h"

namespace freshet::http_server {
namespace {

constexpr size_t kMostMessage = 300;
constexpr size_t kMostWhat = 200;
constexpr size_t kMostRead = 64u << 10;  // The bytes of a response that are read; errors are shorter.

struct CodeAndMessage {
  std::string code;
  std::string message;
};

std::string text_of(const JsonView& object, std::string_view name) {
  const auto member = object.find(name);
  return member && member->is(JsonKind::kString) ? std::string(member->text()) : std::string();
}

std::string between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t at = text.find(open);
  if (at == std::string_view::npos) return {};
  const size_t from = at + open.size();
  return std::string(text.substr(from, text.find(close, from) - from));
}

// Reads {"error": {"code", "message"}}, {"__type", "message"}, Lambda's {"Message"}, or SNS's XML.
CodeAndMessage error_in(std::string_view body) {
  body = body.substr(0, kMostRead);
  if (body.starts_with('<')) return {between(body, "<Code>", "</Code>"), between(body, "<Message>", "</Message>")};
  JsonDocument document;
  const auto parsed = document.parse(body);
  if (!parsed || !parsed->is(JsonKind::kObject)) return {};
  if (const auto error = parsed->find("error"); error && error->is(JsonKind::kObject)) {
    return {text_of(*error, "code"), text_of(*error, "message")};
  }
  std::string code = text_of(*parsed, "__type");
  code.erase(0, code.find('#') + 1);
  std::string message = text_of(*parsed, "message");
  if (message.empty()) message = text_of(*parsed, "Message");
  return {std::move(code), std::move(message)};
}

// The service repeats an incomplete Authorization header; its content is only for the client.
std::string_view without_secrets(std::string_view message) {
  constexpr std::string_view kRepeated = "Authorization=";
  const size_t at = message.find(kRepeated);
  return at == std::string_view::npos ? message : message.substr(0, at + kRepeated.size());
}

// True for a condition that does not hold: an answer that the client asked for. Such a body begins with its code.
bool is_outcome(std::string_view body) {
  const std::string_view begin = body.substr(0, 100);
  const auto has = [begin](std::string_view code) { return begin.find(code) != std::string_view::npos; };
  return has("#ConditionalCheckFailedException") || has("#TransactionCanceledException") ||
         has("#DuplicateItemException");
}

}  // namespace

void RefusalLog::fill(Bucket& bucket) const {
  const BootTime now = clock_.boot();
  if (bucket.left == kBurst) bucket.filled = now;
  const int64_t more = (now - bucket.filled) / kEach;
  bucket.filled += more * kEach;
  bucket.left = static_cast<uint32_t>(std::min<int64_t>(kBurst, bucket.left + more));
}

void RefusalLog::log(const RefusedRequest& request) {
  const bool failed = request.status >= 500;
  const bool outcome = !failed && is_outcome(request.body);
  const LogLevel level = failed ? LogLevel::kWarn : outcome ? LogLevel::kDebug : LogLevel::kInfo;
  if (!log_.enabled(level)) return;
  Bucket& bucket = failed ? failed_ : refused_;
  if (!outcome) {
    fill(bucket);
    if (bucket.left == 0) {
      ++bucket.left_out;
      return;
    }
    --bucket.left;
  }
  const CodeAndMessage error = error_in(request.body);
  const char* name = failed ? "REQUEST_FAILED" : "REQUEST_REFUSED";
  // The fields refer to it until the event is written.
  const std::string message(without_secrets(error.message).substr(0, kMostMessage));
  const LogField id{"requestId", request.id};
  const LogField what{"request", std::string_view(request.what).substr(0, kMostWhat)};
  const LogField status{"status", request.status};
  const LogField code{"code", request.code.empty() ? std::string_view(error.code) : std::string_view(request.code)};
  const LogField text{"message", message};
  const uint64_t left_out = outcome ? 0 : std::exchange(bucket.left_out, 0);
  if (left_out == 0) return log_.event(level, name, {id, what, status, code, text});
  // `untold` is the name that earlier releases gave it.
  log_.event(level, name, {id, what, status, code, text, {"leftOut", left_out}, {"untold", left_out}});
}

}  // namespace freshet::http_server
