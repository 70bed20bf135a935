// Archives as clients make them, and what must not come out of one. The archives are made here, byte by byte.
#include "wire/lambda/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kPlenty = 1u << 20;

template <class Number>
void put(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof(Number); ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

struct Source {
  std::string name;
  std::string content;
  uint32_t mode = 0100644;
  bool deflated = true;
  uint16_t flags = 0;
  std::optional<uint32_t> size = std::nullopt;  // The size that it claims.
};

std::string deflated(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string archive_of(const std::vector<Source>& sources) {
  std::string out;
  std::string directory;
  for (const Source& source : sources) {
    const std::string packed = source.deflated ? deflated(source.content) : source.content;
    const auto crc = static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(source.content.data()), static_cast<uInt>(source.content.size())));
    const auto at = static_cast<uint32_t>(out.size());
    std::string fixed;  // The common part of both records.
    put<uint16_t>(fixed, source.flags);
    put<uint16_t>(fixed, source.deflated ? 8 : 0);
    put<uint32_t>(fixed, 0);
    put<uint32_t>(fixed, crc);
    put<uint32_t>(fixed, static_cast<uint32_t>(packed.size()));
    put<uint32_t>(fixed, source.size.value_or(static_cast<uint32_t>(source.content.size())));
    put<uint16_t>(fixed, static_cast<uint16_t>(source.name.size()));
    put<uint16_t>(fixed, 0);
    put<uint32_t>(out, 0x04034b50);
    put<uint16_t>(out, 20);
    out += fixed + source.name + packed;
    put<uint32_t>(directory, 0x02014b50);
    put<uint16_t>(directory, 3 << 8 | 20);
    put<uint16_t>(directory, 20);
    directory += fixed;
    put<uint16_t>(directory, 0);
    put<uint16_t>(directory, 0);
    put<uint16_t>(directory, 0);
    put<uint32_t>(directory, source.mode << 16);
    put<uint32_t>(directory, at);
    directory += source.name;
  }
  const auto at = static_cast<uint32_t>(out.size());
  out += directory;
  put<uint32_t>(out, 0x06054b50);
  put<uint32_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(sources.size()));
  put<uint16_t>(out, static_cast<uint16_t>(sources.size()));
  put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(out, at);
  put<uint16_t>(out, 0);
  return out;
}

// "NAME: CONTENT" a file, with "!" behind the name of what may be executed and "/" behind a folder's.
Result<std::vector<std::string>> content_of(std::string_view archive, uint64_t limit = kPlenty) {
  std::vector<std::string> found;
  auto done = unzip(archive, limit, [&](const ZipEntry& entry, std::string bytes) {
    found.push_back(entry.name + (entry.folder ? "/" : "") + (entry.executable ? "!" : "") + ": " + bytes);
    return Result<void>();
  });
  if (!done) return fail(done.error());
  return found;
}

std::string refused(std::string_view archive, uint64_t limit = kPlenty) {
  const auto content = content_of(archive, limit);
  return content ? "not refused" : content.error().message;
}

TEST(ZipTest, FilesFoldersAndWhatMayBeExecuted) {
  const std::string long_text(50'000, 'x');
  const auto content = content_of(archive_of({{"bootstrap", "#!/bin/sh", 0100755},
                                              {"lib/", "", 0040755, false},
                                              {"lib/a.py", long_text},
                                              {"stored.txt", "as it is", 0100644, false},
                                              {"empty", ""}}));
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_THAT(*content, ElementsAre("bootstrap!: #!/bin/sh", "lib/!: ", "lib/a.py: " + long_text,
                                    "stored.txt: as it is", "empty: "));
}

TEST(ZipTest, NothingOutsideOfIt) {
  for (const char* name : {"../x", "a/../../x", "/etc/x", "a//b", "./a", "a\\b", "..", ""}) {
    EXPECT_THAT(refused(archive_of({{name, "x"}})), HasSubstr("is no name of a file")) << name;
  }
  EXPECT_THAT(refused(archive_of({{"link", "/etc/passwd", 0120777}})), HasSubstr("neither a file nor a folder"));
}

TEST(ZipTest, WhatIsDamaged) {
  const std::string good = archive_of({{"a", "some content"}, {"b", "more"}});
  EXPECT_THAT(refused(""), HasSubstr("no ZIP archive"));
  EXPECT_THAT(refused("PK but nothing of it"), HasSubstr("no ZIP archive"));
  EXPECT_THAT(refused(archive_of({{"a", "x", 0100644, true, 1}})), HasSubstr("encrypted"));
  EXPECT_THAT(refused(archive_of({{"a", "xyz", 0100644, true, 0, 2}})), HasSubstr("damaged"));
  EXPECT_THAT(refused(archive_of({{"a", "xyz", 0100644, true, 0, 4}})), HasSubstr("damaged"));
  // With any byte changed, and cut at any length: an error or the right content, and no crash.
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    const auto content = content_of(bad);
    if (content && content->size() == 2) {
      EXPECT_THAT((*content)[0], HasSubstr("some content")) << at;
    }
    (void)content_of(std::string_view(good).substr(0, at));
    (void)content_of(std::string_view(good).substr(at));
  }
}

TEST(ZipTest, NoMoreThanTheLimit) {
  const std::string archive = archive_of({{"a", std::string(600, 'a')}, {"b", std::string(600, 'b')}});
  EXPECT_TRUE(content_of(archive, 1200));
  const auto content = content_of(archive, 1199);
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::kValidation);  // As the service says it.
  EXPECT_EQ(content.error().message, "Unzipped size must be smaller than 1199 bytes");
  // A claim is no reason to take memory.
  EXPECT_THAT(refused(archive_of({{"a", "x", 0100644, true, 0, 1u << 30}}), uint64_t{4} << 30), HasSubstr("damaged"));
}

TEST(ZipTest, NothingThatCannotLieBesideTheRest) {
  EXPECT_THAT(refused(archive_of({{"a", "1"}, {"a", "2"}})), HasSubstr("a is there twice"));
  EXPECT_THAT(refused(archive_of({{"a", "1"}, {"a/b", "2"}})), HasSubstr("a is there twice"));
  EXPECT_THAT(refused(archive_of({{"a/b", "1"}, {"a", "2"}})), HasSubstr("a is there twice"));
  EXPECT_TRUE(content_of(archive_of({{"a/", "", 0040755, false}, {"a/b", "1"}, {"a/", "", 0040755, false}})));
  EXPECT_TRUE(content_of(archive_of({{std::string(255, 'x'), "1"}})));
  EXPECT_THAT(refused(archive_of({{std::string(256, 'x'), "1"}})), HasSubstr("is no name of a file"));
}

// 400 KB of archive that would make 100,000 folders.
TEST(ZipTest, NamesImplyNoMoreFoldersThanTheLimit) {
  std::vector<Source> deep;
  for (int i = 0; i < 200; ++i) {
    std::string name = std::to_string(i) + "/";
    for (int part = 0; part < 500; ++part) name += "d/";
    deep.push_back({name + "file", ""});
  }
  EXPECT_THAT(refused(archive_of(deep)), HasSubstr("more than 100000 files and folders"));
}

// A fault of the last entry is reported before anything of the first is written.
TEST(ZipTest, AllNamesAreSeenFirst) {
  int seen = 0;
  const auto done = unzip(archive_of({{"a", "1"}, {"../b", "2"}}), kPlenty, [&](const ZipEntry&, const std::string&) {
    ++seen;
    return Result<void>();
  });
  EXPECT_FALSE(done);
  EXPECT_EQ(seen, 0);
}

TEST(ZipTest, WhoTakesMayStop) {
  int seen = 0;
  const auto done = unzip(archive_of({{"a", "1"}, {"b", "2"}}), kPlenty, [&](const ZipEntry&, const std::string&) {
    ++seen;
    return Result<void>(fail(ErrorCode::kDiskFull, "full"));
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(seen, 1);
}

TEST(Zip, MakesWhatItReads) {
  ZipWriter writer;
  writer.add({"a", true, false}, "");
  writer.add({"a/empty", false, false}, "");
  writer.add({"a/run", false, true}, std::string(100'000, 'y'));
  std::vector<std::string> seen;
  const auto done =
      unzip(writer.finish(), kPlenty, [&](const ZipEntry& entry, const std::string& bytes) -> Result<void> {
        seen.push_back(entry.name + (entry.folder ? "/" : "") + (entry.executable ? "*" : "") + " " +
                       std::to_string(bytes.size()));
        return {};
      });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(seen[1], "a/empty 0");
  EXPECT_EQ(seen[2], "a/run* 100000");
  EXPECT_EQ(seen[0].substr(0, 2), "a/");
  EXPECT_EQ(seen.size(), 3u);
}

}  // namespace
}  // namespace freshet
