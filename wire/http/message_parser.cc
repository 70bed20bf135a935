#include "wire/http/message_parser.h"

#include <utility>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>

namespace freshet {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view plain(BeastView text) {
  return {text.data(), text.size()};
}

constexpr size_t kUsualHeaders = 12;  // An SDK sends about ten.

// Marks our own refusals; the reason is kept separately.
error_code refused() {
  return make_error_code(boost::system::errc::protocol_error);
}

std::string too_long(const char* what, const HttpLimits& limits) {
  return what + (" longer than " + std::to_string(limits.header_bytes)) + " bytes";
}

// The common part of requests and responses: headers and body into plain strings, within limits.
template <bool kIsRequest>
class Collector : public http::basic_parser<kIsRequest> {
 public:
  explicit Collector(const HttpLimits& limits) : limits_(limits) {
    this->eager(true);
    // The sizes of the first line, of the headers, and of everything between them are checked one by one below.
    this->header_limit(static_cast<uint32_t>(3 * limits.header_bytes));
    this->body_limit(limits.body_bytes);
  }

  HttpHeaders headers;
  HttpHeaders trailers;
  std::string body;
  std::string method;
  std::string target;
  int status = 0;
  std::optional<ParseFailure> refusal;
  bool header_complete = false;
  bool http10 = false;
  bool expects_continue = false;
  bool started_headers() const { return kIsRequest ? !method.empty() : true; }

 protected:
  bool refuse(int answer, std::string reason, error_code& ec) {
    refusal = ParseFailure{answer, std::move(reason)};
    ec = refused();
    return false;
  }
  bool count(size_t bytes, error_code& ec) {
    header_bytes_ += bytes;
    if (header_bytes_ <= limits_.header_bytes) return true;
    return refuse(400, too_long("the headers are", limits_), ec);
  }

 private:
  void on_request_impl(http::verb, BeastView method_text, BeastView target_text, int version, error_code& ec) override {
    method = plain(method_text);
    target = plain(target_text);
    constexpr size_t kRest = std::string_view("  HTTP/1.1").size();
    if (method.size() + target.size() + kRest > limits_.header_bytes) {
      refuse(400, too_long("the request line is", limits_), ec);
      return;
    }
    http10 = version == 10;
    headers.reserve(kUsualHeaders);
  }
  void on_response_impl(int code, BeastView, int, error_code&) override { status = code; }

  void on_field_impl(http::field name, BeastView name_text, BeastView value, error_code& ec) override {
    if (!count(name_text.size() + value.size() + 4, ec)) return;
    if (is_folded(name_text, value)) {
      refuse(400, "a header goes on in the next line", ec);
      return;
    }
    if (headers.size() + trailers.size() == limits_.header_count) {
      refuse(431, "more than " + std::to_string(limits_.header_count) + " headers", ec);
      return;
    }
    if (header_complete) {
      trailers.emplace_back(plain(name_text), plain(value));  // No trailer may pass for a header.
      return;
    }
    if (name == http::field::content_length && std::exchange(has_length_, true)) {
      refuse(400, "more than one Content-Length", ec);
      return;
    }
    if (name == http::field::content_length && value.find(',') != BeastView::npos) {
      refuse(400, "more than one Content-Length", ec);
      return;
    }
    if (name == http::field::transfer_encoding && http10) {
      // A proxy that knows only HTTP/1.0 forwards it unread, and may so see other requests in the same bytes (RFC 9112,
      // 6.1).
      refuse(400, "HTTP/1.0 has no Transfer-Encoding", ec);
      return;
    }
    if (name == http::field::transfer_encoding && !boost::beast::iequals(value, "chunked")) {
      refuse(501, "the only transfer coding that is understood is chunked", ec);
      return;
    }
    // HTTP/1.0 has no interim answers (RFC 9110, 10.1.1).
    if (name == http::field::expect && !http10 && boost::beast::iequals(value, "100-continue")) expects_continue = true;
    headers.emplace_back(plain(name_text), plain(value));
  }
  // True if the value is in a line behind that of its name (RFC 9112, 5.2): others may see a separate header there. A
  // value that spans both lines was put together elsewhere; otherwise the end of a line is between the two.
  bool is_folded(BeastView name, BeastView value) const {
    if (value.empty()) return false;
    const char* end = name.data() + name.size();
    const auto gap = reinterpret_cast<uintptr_t>(value.data()) - reinterpret_cast<uintptr_t>(end);
    return gap > limits_.header_bytes || std::string_view(end, gap).find('\n') != std::string_view::npos;
  }
  void on_header_impl(error_code&) override { header_complete = true; }
  void on_body_init_impl(const boost::optional<uint64_t>& length, error_code&) override {
    constexpr uint64_t kTrusted = 256u << 10;  // A claimed length reserves at most this before the bytes are there.
    if (length) body.reserve(std::min<uint64_t>(*length, kTrusted));
  }
  size_t on_body_impl(BeastView part, error_code&) override {
    body.append(part.data(), part.size());
    return part.size();
  }
  void on_chunk_header_impl(uint64_t, BeastView, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, BeastView part, error_code&) override {
    body.append(part.data(), part.size());
    return part.size();
  }
  void on_finish_impl(error_code&) override {}

  const HttpLimits& limits_;
  size_t header_bytes_ = 0;
  bool has_length_ = false;
};

template <bool kIsRequest>
ParseFailure explain(const Collector<kIsRequest>& parser, const HttpLimits& limits, error_code ec) {
  if (parser.refusal) return *parser.refusal;
  if (ec == http::error::body_limit) {
    return {413, "the body is longer than " + std::to_string(limits.body_bytes) + " bytes"};
  }
  if (ec == http::error::header_limit) {
    return {400, too_long("the headers are", limits)};
  }
  if (ec == http::error::bad_version) return {505, "not HTTP/1.0 or HTTP/1.1"};
  return {400, "not an HTTP message: " + ec.message()};
}

constexpr size_t kLastChunkBytes = 5;  // 0 CRLF CRLF

// Offers `in` to the parser. Sets `failure` if the message is refused. The parser takes a line (header, chunk
// extension, trailer) only as a whole, so it never sees more bytes at once than a line may have: it refuses a line that
// is too long whether the line comes in one piece or in many.
template <bool kIsRequest>
size_t offer(Collector<kIsRequest>& parser, std::string_view in, const HttpLimits& limits,
             std::optional<ParseFailure>& failure) {
  const size_t window = limits.header_bytes + 1;
  size_t taken = 0;
  while (taken < in.size() && !parser.is_done()) {
    const std::string_view seen = in.substr(taken, window);
    // The end of a chunked body is taken as a whole. Beast asserts that it is not offered less a second time.
    if (parser.is_header_done() && parser.chunked() && seen.size() < kLastChunkBytes) break;
    error_code ec;
    const size_t step = parser.put(boost::asio::const_buffer(seen.data(), seen.size()), ec);
    taken += step;
    if (ec && ec != http::error::need_more) {
      failure = explain(parser, limits, ec);
      break;
    }
    if (step > 0) continue;
    if (seen.size() == window) {
      failure = ParseFailure{400, too_long(parser.started_headers() ? "a line is" : "the request line is", limits)};
    }
    break;
  }
  return taken;
}

}  // namespace

class RequestParser::Impl {
 public:
  explicit Impl(HttpLimits l) : limits(l) { parser.emplace(limits); }
  HttpLimits limits;
  std::optional<Collector<true>> parser;
  std::optional<ParseFailure> failure;
};

RequestParser::RequestParser(HttpLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

size_t RequestParser::feed(std::string_view in) {
  size_t skipped = 0;
  if (!started()) {
    // An empty line before a request is to be ignored (RFC 9112, 2.2).
    while (in.size() - skipped >= 2 && in[skipped] == '\r' && in[skipped + 1] == '\n') skipped += 2;
    if (skipped == in.size() || in.substr(skipped) == "\r") return skipped;
  }
  if (state() != ParseState::kNeedMore) return skipped;
  return skipped + offer(*impl_->parser, in.substr(skipped), impl_->limits, impl_->failure);
}

ParseState RequestParser::state() const {
  if (impl_->failure) return ParseState::kFailed;
  return impl_->parser->is_done() ? ParseState::kComplete : ParseState::kNeedMore;
}
const ParseFailure& RequestParser::failure() const {
  return *impl_->failure;
}
bool RequestParser::started() const {
  return impl_->parser->got_some();
}
bool RequestParser::header_complete() const {
  return impl_->parser->header_complete;
}
size_t RequestParser::body_bytes() const {
  return impl_->parser->body.size();
}
bool RequestParser::expects_continue() const {
  return header_complete() && impl_->parser->expects_continue;
}
const HttpHeaders& RequestParser::headers() const {
  return impl_->parser->headers;
}
HttpRequest RequestParser::head() const {
  const Collector<true>& parser = *impl_->parser;
  return {parser.method, parser.target, parser.headers, {}};
}
bool RequestParser::keep_alive() const {
  return impl_->parser->keep_alive();
}

bool RequestParser::http10() const {
  return impl_->parser->http10;
}

HttpRequest RequestParser::take() {
  Collector<true>& done = *impl_->parser;
  HttpRequest request{std::move(done.method), std::move(done.target), std::move(done.headers), std::move(done.body)};
  request.trailers = std::move(done.trailers);
  impl_->parser.emplace(impl_->limits);
  return request;
}

class ResponseParser::Impl {
 public:
  Impl(HttpLimits l, bool head) : limits(l), to_head(head) { restart(); }
  void restart() {
    parser.emplace(limits);
    if (to_head) parser->skip(true);
  }
  HttpLimits limits;
  bool to_head;
  std::optional<Collector<false>> parser;
  std::optional<ParseFailure> failure;
};

ResponseParser::ResponseParser(HttpLimits limits, bool to_head) : impl_(std::make_unique<Impl>(limits, to_head)) {}
ResponseParser::~ResponseParser() = default;

size_t ResponseParser::feed(std::string_view in) {
  size_t taken = 0;
  while (state() == ParseState::kNeedMore && taken < in.size()) {
    const size_t step = offer(*impl_->parser, in.substr(taken), impl_->limits, impl_->failure);
    taken += step;
    const bool interim = impl_->parser->is_done() && impl_->parser->status / 100 == 1;
    if (interim) impl_->restart();
    if (step == 0 || !interim) break;
  }
  return taken;
}

void ResponseParser::end_of_stream() {
  if (state() != ParseState::kNeedMore) return;
  if (!impl_->parser->got_some()) {
    impl_->failure = ParseFailure{0, "the connection was closed before an answer"};
    return;
  }
  error_code ec;
  impl_->parser->put_eof(ec);
  if (ec) impl_->failure = ParseFailure{0, "the connection was closed within the answer"};
}

ParseState ResponseParser::state() const {
  if (impl_->failure) return ParseState::kFailed;
  return impl_->parser->is_done() ? ParseState::kComplete : ParseState::kNeedMore;
}
const ParseFailure& ResponseParser::failure() const {
  return *impl_->failure;
}
bool ResponseParser::keep_alive() const {
  return impl_->parser->keep_alive();
}

HttpResponse ResponseParser::take() {
  Collector<false>& done = *impl_->parser;
  HttpResponse response;
  response.status = done.status;
  response.content_type = header(done.headers, "Content-Type");
  response.headers = std::move(done.headers);
  response.body = std::move(done.body);
  return response;
}

}  // namespace freshet
