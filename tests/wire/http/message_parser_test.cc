#include "wire/http/message_parser.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace freshet {
namespace {

// The result of parsing a stream of bytes: each request in one line, and why the stream was refused.
std::string parse_in_parts(std::string_view bytes, Random* random) {
  HttpLimits limits;
  limits.header_bytes = 512;
  limits.header_count = 8;
  limits.body_bytes = 64;
  RequestParser parser(limits);
  std::string out;
  std::string unread;
  while (!bytes.empty()) {
    const size_t part = random == nullptr ? bytes.size() : 1 + random->below(std::min<size_t>(bytes.size(), 20));
    unread += bytes.substr(0, part);
    bytes.remove_prefix(part);
    while (!unread.empty()) {
      unread.erase(0, parser.feed(unread));
      if (parser.state() == ParseState::kNeedMore) break;
      if (parser.state() == ParseState::kFailed) return out + "refused " + std::to_string(parser.failure().status);
      const bool keep = parser.keep_alive();
      const HttpRequest request = parser.take();
      out += request.method + " " + request.target + " [" + request.body + "]";
      for (const auto& [name, value] : request.headers) out += " " + name + "=" + value;
      out += keep ? "\n" : " close\n";
    }
  }
  return out;
}

// Pieces of requests, good and bad, in random order.
std::string random_stream(Random& random) {
  static constexpr std::string_view kPieces[] = {
      "GET / HTTP/1.1\r\n",
      "POST /a?b=c HTTP/1.1\r\n",
      "PUT * HTTP/1.0\r\n",
      "Host: localhost\r\n",
      "Content-Length: 5\r\n",
      "Content-Length: 0\r\n",
      "Content-Length: 65\r\n",
      "Content-Length: 5, 5\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: gzip\r\n",
      "Connection: close\r\n",
      "Connection: keep-alive, x\r\n",
      "Expect: 100-continue\r\n",
      "X: y\r\n",
      " folded\r\n",
      "\r\n",
      "\r\n",
      "\r\n",
      "hello",
      "5\r\nhello\r\n",
      "0\r\n\r\n",
      "3;x=\"y\"\r\nabc\r\n",
      "0\r\nTrailer: z\r\n\r\n",
      "ffffffffffffffff\r\n",
      "\n",
      ":\r\n",
  };
  // Most streams begin well, so that what comes later is reached.
  std::string out = random.below(4) == 0 ? "" : std::string(kPieces[random.below(3)]);
  const uint64_t pieces = 1 + random.below(14);
  for (uint64_t i = 0; i < pieces; ++i) out += kPieces[random.below(std::size(kPieces))];
  while (random.below(4) == 0) out[random.below(out.size())] = static_cast<char>(random.below(256));
  // A bad line may be found only when the header is complete: every stream ends one.
  return out + "\r\n\r\n\r\n\r\n";
}

// Others may take the second line for a header of its own.
TEST(RequestParser, AHeaderEndsWithItsLine) {
  for (const char* folded : {"Host: a\r\n X: b\r\n", "Host: a\r\n\tb\r\n", "Host: a\r\nX: \r\n b\r\n"}) {
    EXPECT_EQ(parse_in_parts("GET / HTTP/1.1\r\n" + std::string(folded) + "\r\n", nullptr), "refused 400") << folded;
  }
  EXPECT_EQ(parse_in_parts("GET / HTTP/1.1\r\nHost:a\r\nX:\r\nY: \t \r\nZ:   b \r\n\r\n", nullptr),
            "GET / [] Host=a X= Y= Z=b\n");
}

TEST(RequestParser, HowTheBytesArriveMakesNoDifference) {
  const uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  size_t requests = 0;
  size_t refusals = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string bytes = random_stream(random);
    const std::string whole = parse_in_parts(bytes, nullptr);
    requests += whole.find('\n') != std::string::npos ? 1 : 0;
    refusals += whole.find("refused") != std::string::npos ? 1 : 0;
    ASSERT_EQ(parse_in_parts(bytes, &random), whole) << bytes;
  }
  EXPECT_GT(requests, 100u) << "the generator makes too few good requests";
  EXPECT_GT(refusals, 100u);
}

// Beast's parser, built with assertions, ended the process at a last chunk that came in parts.
TEST(RequestParser, TheLastChunkMayComeByteByByte) {
  RequestParser parser{HttpLimits()};
  std::string waiting;
  for (const char byte : std::string("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")) {
    EXPECT_EQ(parser.state(), ParseState::kNeedMore);
    waiting += byte;
    waiting.erase(0, parser.feed(waiting));
  }
  EXPECT_EQ(waiting, "");
  ASSERT_EQ(parser.state(), ParseState::kComplete);
  EXPECT_EQ(parser.take().body, "abc");
}

// The bound of chunk extensions and trailers; the header has its own. The limit is 512 bytes.
TEST(RequestParser, ALongLineIsRefusedHoweverItArrives) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  Random random(1);
  for (const size_t length : {10, 400, 500, 505, 508, 509, 510, 511, 512, 513, 514, 515, 520, 600, 2'000}) {
    const std::string extension = "3;" + std::string(length, 'x') + "\r\nabc\r\n0\r\n\r\n";
    const std::string second = "1\r\na\r\n2;" + std::string(length, 'x') + "\r\nbc\r\n0\r\n\r\n";
    const std::string trailer = "3\r\nabc\r\n0\r\nT: " + std::string(length, 'x') + "\r\n\r\n";
    for (const std::string& body : {extension, second, trailer}) {
      const std::string whole = parse_in_parts(head + body, nullptr);
      EXPECT_EQ(parse_in_parts(head + body, &random), whole) << length;
      const bool is_good = whole == "POST / [abc] Transfer-Encoding=chunked\n";
      EXPECT_TRUE(is_good || whole == "refused 400") << whole;
      EXPECT_TRUE(length > 400 || is_good) << length;
      EXPECT_TRUE(length < 520 || !is_good) << length;
    }
  }
}

TEST(RequestParser, IgnoresTrailers) {
  const std::string out = parse_in_parts(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nHost: evil\r\nX-Amz-Target: "
      "b\r\n\r\n",
      nullptr);
  EXPECT_EQ(out, "POST / [abc] Host=a Transfer-Encoding=chunked\n");
}

TEST(RequestParser, RefusesWhatOthersMightReadDifferently) {
  for (const char* bad :
       {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET / HTTP/1.1\r\nA : b\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "GET / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\na",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"}) {
    EXPECT_TRUE(parse_in_parts(bad, nullptr).starts_with("refused ")) << bad << "\n" << parse_in_parts(bad, nullptr);
  }
}

}  // namespace
}  // namespace freshet
