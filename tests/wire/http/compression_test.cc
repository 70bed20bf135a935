#include "wire/http/compression.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace freshet {
namespace {

constexpr int kGzip = 16 + MAX_WBITS;
constexpr int kZlib = MAX_WBITS;
constexpr int kRaw = -MAX_WBITS;

std::string pack(const std::string& text, int bits) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

ErrorCode code_of(const Result<std::string>& result) {
  EXPECT_FALSE(result);
  return result ? ErrorCode::kInternal : result.error().code;
}

const std::string kText = "some text, some text, some text" + std::string(5000, 'x');

TEST(Compression, ReadsGzipAndBothKindsOfDeflate) {
  EXPECT_EQ(*inflate_body(pack(kText, kGzip), Coding::kGzip, 1 << 20), kText);
  EXPECT_EQ(*inflate_body(pack(kText, kZlib), Coding::kDeflate, 1 << 20), kText);
  EXPECT_EQ(*inflate_body(pack(kText, kRaw), Coding::kDeflate, 1 << 20), kText);
  EXPECT_EQ(*inflate_body(pack("", kGzip), Coding::kGzip, 1 << 20), "");
  EXPECT_EQ(*inflate_body(kText, Coding::kIdentity, 10), kText);
  EXPECT_EQ(*inflate_body(pack("ab", kGzip) + pack("cd", kGzip), Coding::kGzip, 100), "abcd");  // Two members.
}

TEST(Compression, TheLimitIsThatOfWhatComesOut) {
  const std::string bomb = pack(std::string(8u << 20, '\0'), kGzip);
  EXPECT_LT(bomb.size(), 10'000u);
  EXPECT_EQ(code_of(inflate_body(bomb, Coding::kGzip, 1 << 20)), ErrorCode::kRequestTooLarge);
  EXPECT_EQ(inflate_body(bomb, Coding::kGzip, 8 << 20)->size(), 8u << 20);
  EXPECT_EQ(code_of(inflate_body(bomb, Coding::kGzip, (8 << 20) - 1)), ErrorCode::kRequestTooLarge);
}

TEST(Compression, DamageIsAnErrorWhereverItIs) {
  const std::string good = pack(kText, kGzip);
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(code_of(inflate_body(good.substr(0, n), Coding::kGzip, 1 << 20)), ErrorCode::kSerialization) << n;
  }
  for (size_t at = good.size() - 8; at < good.size(); ++at) {  // Checksum and length.
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_EQ(code_of(inflate_body(bad, Coding::kGzip, 1 << 20)), ErrorCode::kSerialization) << at;
  }
  EXPECT_EQ(code_of(inflate_body("{}", Coding::kGzip, 100)), ErrorCode::kSerialization);
  EXPECT_EQ(code_of(inflate_body("{}", Coding::kDeflate, 100)), ErrorCode::kSerialization);
  EXPECT_EQ(code_of(inflate_body(good + "{}", Coding::kGzip, 1 << 20)), ErrorCode::kSerialization);
  EXPECT_EQ(code_of(inflate_body(pack(kText, kZlib) + "{}", Coding::kDeflate, 1 << 20)), ErrorCode::kSerialization);
}

TEST(Compression, HeadersAreRead) {
  EXPECT_EQ(parse_coding(""), Coding::kIdentity);
  EXPECT_EQ(parse_coding("Identity"), Coding::kIdentity);
  EXPECT_EQ(parse_coding(" GZIP "), Coding::kGzip);
  EXPECT_EQ(parse_coding("x-gzip"), Coding::kGzip);
  EXPECT_EQ(parse_coding("deflate"), Coding::kDeflate);
  EXPECT_FALSE(parse_coding("br"));
  EXPECT_FALSE(parse_coding("gzip, gzip"));
  EXPECT_EQ(preferred_coding(""), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("identity"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("br, deflate , GZIP"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("br, gzip , deflate"), Coding::kGzip);
  EXPECT_EQ(preferred_coding("identity, gzip"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("identity;q=0.5, deflate;q=0.50, gzip; q=0.501"), Coding::kGzip);
  EXPECT_EQ(preferred_coding("deflate;q=0.5, gzip;q=0.5"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("gzip;q=0.001, deflate;q=7"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("x-gzip"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("deflate;q=0.5, br"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("gzip;q=0, deflate; q=0.000"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding(",,;,"), Coding::kIdentity);
}

TEST(Compression, OnlyWhatGetsSmallerIsCompressed) {
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    HttpResponse response;
    response.body = kText;
    compress_answer(response, coding);
    EXPECT_EQ(header(response.headers, "Content-Encoding"), coding == Coding::kGzip ? "gzip" : "deflate");
    EXPECT_LT(response.body.size(), 200u);
    EXPECT_EQ(*inflate_body(response.body, coding, 1 << 20), kText);
  }
  HttpResponse small;
  small.body = std::string(4095, 'x');
  compress_answer(small, Coding::kGzip);
  EXPECT_TRUE(small.headers.empty());
  small.body += 'x';
  compress_answer(small, Coding::kGzip);
  EXPECT_EQ(header(small.headers, "Content-Encoding"), "gzip");
  HttpResponse noise;
  uint32_t state = 7;
  for (int i = 0; i < 5000; ++i) noise.body += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string before = noise.body;
  compress_answer(noise, Coding::kGzip);
  EXPECT_TRUE(noise.headers.empty());
  EXPECT_EQ(noise.body, before);
}

}  // namespace
}  // namespace freshet
