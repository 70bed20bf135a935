#include "app/lab/downstream_text.h"

#include <charconv>
#include <vector>

#include "base/duration_text.h"

namespace freshet::lab {

namespace {

constexpr double kMost = 1e6;
constexpr milliseconds kLongestWindow = std::chrono::hours(24);
constexpr const char* kForms =
    "write none, or 'token-bucket 20/s', 'token-bucket 20/s burst 5', 'window 600/60s', 'sliding 100/10s' or "
    "'concurrency 8', with 'each group' or 'each key' behind it if each has that limit, and with 'retry-after' or "
    "'ratelimit' if its answers have those headers";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    const size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::optional<double> parsed_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 1 && number <= kMost)) return {};
  return number;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), words_(words_of(text)) {}

  Result<DownstreamSpec> parse() {
    if (words_.empty()) return wrong("is empty");
    if (words_[0] == "none" && words_.size() == 1) return DownstreamSpec{};
    if (words_.size() < 2) return wrong("has no limit");
    auto& limiter = spec_.limiter.emplace();
    if (words_[0] == "concurrency") {
      limiter.kind = LimiterKind::kConcurrency;
      limiter.mean_service = seconds(1);
      const auto number = parsed_number(words_[1]);
      if (!number) return wrong("has no number of calls at once from 1 to 1000000");
      limiter.plan = {{nanoseconds(0), *number}};
    } else if (auto ok = read_rate(limiter); !ok) {
      return fail(ok.error());
    }
    return read_rest();
  }

 private:
  tl::unexpected<Error> wrong(const std::string& what) const {
    return invalid("the downstream '" + std::string(text_) + "' " + what + ": " + kForms);
  }

  Result<void> read_rate(LimiterSpec& limiter) {
    if (words_[0] == "token-bucket") {
      limiter.kind = LimiterKind::kTokenBucket;
    } else if (words_[0] == "window") {
      limiter.kind = LimiterKind::kWindow1s;
    } else if (words_[0] == "sliding") {
      limiter.kind = LimiterKind::kSliding;
    } else {
      return wrong("has the unknown limiter '" + std::string(words_[0]) + "'");
    }
    const auto slash = words_[1].find('/');
    const auto number = parsed_number(words_[1].substr(0, slash));
    if (!number || slash == std::string_view::npos) return wrong("has no limit like 20/s");
    std::string window(words_[1].substr(slash + 1));
    if (window.empty() || window[0] < '0' || window[0] > '9') window.insert(0, "1");
    const auto duration = parse_duration(window, milliseconds(10), kLongestWindow);
    if (!duration) return wrong("has a limit over no duration (" + duration.error().message + ")");
    limiter.window = *duration;
    limiter.plan = {{nanoseconds(0), *number / std::chrono::duration<double>(*duration).count()}};
    return {};
  }

  Result<DownstreamSpec> read_rest() {
    auto& limiter = *spec_.limiter;
    for (size_t i = 2; i < words_.size(); ++i) {
      if (words_[i] == "each" && i + 1 < words_.size() && (words_[i + 1] == "group" || words_[i + 1] == "key")) {
        spec_.each = words_[++i] == "group" ? LimitedBy::kGroup : LimitedBy::kKey;
      } else if (const auto hints = hint_kind_of(words_[i]); hints) {
        spec_.hints.kind = *hints;
      } else if (words_[i] == "burst" && i + 1 < words_.size() && limiter.kind == LimiterKind::kTokenBucket) {
        const auto burst = parsed_number(words_[++i]);
        if (!burst) return wrong("has a burst that is no number of calls from 1 to 1000000");
        limiter.burst_seconds = *burst / limiter.plan[0].rate;
      } else {
        return wrong("has '" + std::string(words_[i]) + "' behind its limit");
      }
    }
    return spec_;
  }

  const std::string_view text_;
  const std::vector<std::string_view> words_;
  DownstreamSpec spec_;
};

}  // namespace

Result<DownstreamSpec> parse_downstream(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace freshet::lab
