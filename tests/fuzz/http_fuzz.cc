// The bytes of a connection to requests: however the network cuts them, the same requests come out (one that can never
// become whole may be refused earlier or later); bodies are inflated and targets taken apart.
#include "tests/fuzz/target.h"
#include "wire/http/compression.h"
#include "wire/http/message_parser.h"
#include "wire/http/target.h"

namespace freshet::fuzz {
namespace {

constexpr size_t kMaxInput = 16'384;

// Headers may be longer than any input: close to that bound, blanks and line ends count in one way of being cut and not
// in the other.
HttpLimits small_limits() {
  return {.header_bytes = 2 * kMaxInput, .header_count = 12, .body_bytes = 1000};
}

void check_request(const HttpRequest& request, const HttpLimits& limits) {
  require(request.body.size() <= limits.body_bytes, "a body above the limit");
  require(request.headers.size() <= limits.header_count, "too many headers");
  for (const auto& [name, value] : request.headers) {
    require(name.find_first_of("\r\n") == std::string::npos && value.find_first_of("\r\n") == std::string::npos,
            "a line's end inside a header", name);
  }
  static_cast<void>(parse_target(request.target));
  const auto coding = parse_coding(header(request.headers, "Content-Encoding"));
  static_cast<void>(preferred_coding(header(request.headers, "Accept-Encoding")));
  if (!coding || *coding == Coding::kIdentity) return;
  const auto inflated = inflate_body(request.body, *coding, 4096);
  require(!inflated || inflated->size() <= 4096, "an inflated body above the limit");
}

// The requests of a connection whose bytes come `step` at a time, as one text.
std::string requests(std::string_view bytes, size_t step) {
  const HttpLimits limits = small_limits();
  RequestParser parser(limits);
  std::string seen;
  std::string waiting;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view part = bytes.substr(at, step);
    at += part.size();
    waiting += part;
    for (bool more = true; more;) {
      const size_t taken = parser.feed(waiting);
      require(taken <= waiting.size(), "more was taken than there is");
      waiting.erase(0, taken);
      if (parser.state() == ParseState::kFailed) {
        const ParseFailure& failure = parser.failure();
        require(failure.status >= 400 && !failure.reason.empty(), "a refusal without status or reason");
        return seen;
      }
      more = parser.state() == ParseState::kComplete;
      if (!more) continue;
      const bool goes_on = parser.keep_alive();
      const HttpRequest request = parser.take();
      check_request(request, limits);
      seen += request.method + " " + request.target + " " + request.body + "\n";
      for (const auto& [name, value] : request.headers) seen += name + ": " + value + "\n";
      if (!goes_on) return seen + "closed";
    }
  }
  return seen;
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet::fuzz;
  if (size < 1 || size > kMaxInput) return 0;
  const std::string_view bytes = as_text(data + 1, size - 1);
  const std::string whole = requests(bytes, bytes.size());
  const std::string parts = requests(bytes, 1 + data[0]);
  require(whole == parts, "requests depend on how the network cuts them", whole + "\n-- in parts --\n" + parts);
  for (const auto coding : {freshet::Coding::kGzip, freshet::Coding::kDeflate}) {
    static_cast<void>(freshet::inflate_body(bytes, coding, 4096));
  }
  return 0;
}
