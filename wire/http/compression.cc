#include "wire/http/compression.h"

#include <zlib.h>

#include <algorithm>

namespace freshet {

namespace {

constexpr size_t kWorthwhile = 4096;  // The item store's service has the same bound.
constexpr int kGzipBits = 16 + MAX_WBITS;
constexpr int kZlibBits = MAX_WBITS;
constexpr int kRawBits = -MAX_WBITS;

bool equals(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The weight of an element of Accept-Encoding ("gzip;q=0.5"), in thousandths. 0: its coding is not accepted.
int weight_of(std::string_view parameters) {
  std::string_view weight = trim(parameters);
  if (!weight.starts_with("q=") && !weight.starts_with("Q=")) return 1000;
  weight = weight.substr(2, 5);  // "0.123"
  int thousandths = 0;
  int unit = 1000;
  for (const char c : weight) {
    if (c == '.') continue;
    if (c < '0' || c > '9') break;
    thousandths += (c - '0') * unit;
    unit /= 10;
  }
  return std::min(thousandths, 1000);
}

bool has_zlib_header(std::string_view body) {
  if (body.size() < 2) return true;  // Too short either way.
  const unsigned first = static_cast<unsigned char>(body[0]);
  const unsigned second = static_cast<unsigned char>(body[1]);
  return (first & 15) == 8 && (first * 256 + second) % 31 == 0;
}

class Inflater {
 public:
  explicit Inflater(int bits) { ready_ = ::inflateInit2(&stream_, bits) == Z_OK; }
  ~Inflater() {
    if (ready_) ::inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

tl::unexpected<Error> broken(std::string_view why) {
  return fail(ErrorCode::kSerialization, "the body is not what its Content-Encoding says: " + std::string(why));
}

}  // namespace

std::optional<Coding> parse_coding(std::string_view content_encoding) {
  const std::string_view name = trim(content_encoding);
  if (name.empty() || equals(name, "identity")) return Coding::kIdentity;
  if (equals(name, "gzip") || equals(name, "x-gzip")) return Coding::kGzip;
  if (equals(name, "deflate")) return Coding::kDeflate;
  return std::nullopt;
}

Coding preferred_coding(std::string_view accept_encoding) {
  Coding best = Coding::kIdentity;
  int best_weight = 0;
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view element = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const size_t semicolon = std::min(element.find(';'), element.size());
    const std::string_view name = trim(element.substr(0, semicolon));
    const int weight = semicolon < element.size() ? weight_of(element.substr(semicolon + 1)) : 1000;
    std::optional<Coding> coding;
    if (equals(name, "gzip")) coding = Coding::kGzip;
    if (equals(name, "deflate")) coding = Coding::kDeflate;
    if (equals(name, "identity")) coding = Coding::kIdentity;
    if (!coding || weight <= best_weight) continue;
    best = *coding;
    best_weight = weight;
  }
  return best;
}

Result<std::string> inflate_body(std::string_view body, Coding coding, size_t limit) {
  if (coding == Coding::kIdentity) return std::string(body);
  Inflater inflater(coding == Coding::kGzip ? kGzipBits : has_zlib_header(body) ? kZlibBits : kRawBits);
  if (!inflater.ready()) return fail(ErrorCode::kUnavailable, "no memory to decompress the body");
  z_stream& in = inflater.stream();
  in.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  in.avail_in = static_cast<uInt>(body.size());
  std::string out;
  size_t used = 0;
  for (;;) {
    if (used == out.size()) out.resize(std::min(limit + 1, std::max(used * 2, body.size() * 3 + 4096)));
    in.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    in.avail_out = static_cast<uInt>(out.size() - used);
    const int outcome = ::inflate(&in, Z_NO_FLUSH);
    used = out.size() - in.avail_out;
    if (used > limit) {
      return fail(ErrorCode::kRequestTooLarge,
                  "the body is longer than " + std::to_string(limit) + " bytes when decompressed");
    }
    if (outcome == Z_STREAM_END) {
      if (in.avail_in == 0) break;
      // A gzip file may have several members, one behind the other.
      if (coding != Coding::kGzip || ::inflateReset(&in) != Z_OK) return broken("something follows its end");
    } else if (outcome == Z_BUF_ERROR || (outcome == Z_OK && in.avail_in == 0 && in.avail_out > 0)) {
      return broken("it ends too early");
    } else if (outcome != Z_OK) {
      return broken(in.msg != nullptr ? in.msg : "damaged data");
    }
  }
  out.resize(used);
  return out;
}

void compress_answer(HttpResponse& response, Coding coding) {
  if (coding == Coding::kIdentity || response.body.size() < kWorthwhile) return;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, coding == Coding::kGzip ? kGzipBits : kZlibBits, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return;
  }
  std::string out(response.body.size(), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(response.body.data());
  stream.avail_in = static_cast<uInt>(response.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;  // False if it did not become smaller.
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  if (!whole) return;
  response.body = std::move(out);
  response.headers.emplace_back("Content-Encoding", coding == Coding::kGzip ? "gzip" : "deflate");
}

}  // namespace freshet
