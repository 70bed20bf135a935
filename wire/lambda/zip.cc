#include "wire/lambda/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace freshet {
namespace {

// Signatures and the fixed part of each record, from APPNOTE.TXT.
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22;
constexpr size_t kCentralSize = 46;
constexpr size_t kLocalSize = 30;
constexpr size_t kMaxComment = 0xffff;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint32_t kUnix = 3;
constexpr uint32_t kTypeMask = 0170000;
constexpr uint32_t kFolder = 0040000;
constexpr uint32_t kFile = 0100000;
constexpr uint32_t kExecutable = 0100;
constexpr size_t kMaxPathLength = 1024;
constexpr size_t kMaxNamePart = 255;
constexpr size_t kMostInflated = 1032;  // The most bytes that deflate can produce from one.

tl::unexpected<Error> bad(const std::string& what) {
  return invalid("Could not unzip uploaded file: " + what);
}

// Little-endian numbers at any position. The caller has checked the bounds.
template <class Number>
Number number_at(std::string_view bytes, size_t at) {
  Number number = 0;
  for (size_t i = sizeof(Number); i-- > 0;) {
    number = static_cast<Number>(number << 8 | static_cast<unsigned char>(bytes[at + i]));
  }
  return number;
}

struct Member {
  ZipEntry entry;
  uint16_t method = 0;
  uint32_t crc = 0;
  size_t packed = 0;
  size_t size = 0;
  size_t local = 0;
};

std::optional<size_t> find_end(std::string_view archive) {
  if (archive.size() < kEndSize) return std::nullopt;
  const size_t last = archive.size() - kEndSize;
  const size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (number_at<uint32_t>(archive, at) == kEndSignature) return at;
  }
  return std::nullopt;
}

bool stays_inside(std::string_view name) {
  if (name.empty() || name.size() > kMaxPathLength || name.find('\0') != name.npos || name.find('\\') != name.npos) {
    return false;
  }
  for (size_t from = 0; from <= name.size();) {
    const size_t to = std::min(name.find('/', from), name.size());
    const std::string_view part = name.substr(from, to - from);
    if (part.empty() || part == "." || part == ".." || part.size() > kMaxNamePart) return false;
    from = to + 1;
  }
  return true;
}

Result<Member> member_at(std::string_view archive, size_t at, size_t& next) {
  if (at + kCentralSize > archive.size() || number_at<uint32_t>(archive, at) != kCentralSignature) {
    return bad("its directory is damaged");
  }
  Member member;
  const auto made_by = number_at<uint16_t>(archive, at + 4);
  const auto flags = number_at<uint16_t>(archive, at + 8);
  member.method = number_at<uint16_t>(archive, at + 10);
  member.crc = number_at<uint32_t>(archive, at + 16);
  member.packed = number_at<uint32_t>(archive, at + 20);
  member.size = number_at<uint32_t>(archive, at + 24);
  const size_t name_size = number_at<uint16_t>(archive, at + 28);
  const size_t extra = number_at<uint16_t>(archive, at + 30);
  const size_t comment = number_at<uint16_t>(archive, at + 32);
  const uint32_t attributes = number_at<uint32_t>(archive, at + 38);
  member.local = number_at<uint32_t>(archive, at + 42);
  next = at + kCentralSize + name_size + extra + comment;
  if (next > archive.size()) return bad("its directory is damaged");
  std::string name(archive.substr(at + kCentralSize, name_size));
  member.entry.folder = name.ends_with('/');
  if (member.entry.folder) name.pop_back();
  if (!stays_inside(name)) return bad("'" + name.substr(0, 100) + "' is no name of a file in it");
  if ((flags & kEncrypted) != 0) return bad(name + " is encrypted");
  if (made_by >> 8 == kUnix) {
    const uint32_t mode = attributes >> 16;
    const uint32_t type = mode & kTypeMask;
    if (type != 0 && type != kFile && type != kFolder) return bad(name + " is neither a file nor a folder");
    member.entry.executable = (mode & kExecutable) != 0;
  }
  member.entry.name = std::move(name);
  return member;
}

// All files and folders of an archive, including those that names only imply.
class Paths {
 public:
  Result<void> add(const ZipEntry& entry) {
    const std::string& name = entry.name;
    for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      if (auto added = add(name.substr(0, slash), true); !added) return added;
    }
    return add(name, entry.folder);
  }

 private:
  Result<void> add(std::string path, bool folder) {
    const auto [there, is_new] = folders_.try_emplace(std::move(path), folder);
    if (!is_new && !(there->second && folder)) return bad(there->first.substr(0, 100) + " is there twice");
    if (folders_.size() > kMaxZipPaths) {
      return bad("it has more than " + std::to_string(kMaxZipPaths) + " files and folders");
    }
    return {};
  }
  std::unordered_map<std::string, bool> folders_;  // True for a path that is a folder.
};

Result<std::vector<Member>> directory_of(std::string_view archive, uint64_t limit) {
  const auto end = find_end(archive);
  if (!end) return bad("it is no ZIP archive");
  const size_t count = number_at<uint16_t>(archive, *end + 10);
  size_t at = number_at<uint32_t>(archive, *end + 16);
  std::vector<Member> members;
  Paths paths;
  uint64_t size = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t next = 0;
    auto member = member_at(archive, at, next);
    if (!member) return fail(std::move(member.error()));
    at = next;
    if (auto added = paths.add(member->entry); !added) return fail(std::move(added.error()));
    size += member->entry.folder ? 0 : member->size;
    if (size > limit) return invalid("Unzipped size must be smaller than " + std::to_string(limit) + " bytes");
    members.push_back(std::move(*member));
  }
  return members;
}

Result<std::string> content_of(std::string_view archive, const Member& member) {
  const std::string& name = member.entry.name;
  if (member.local + kLocalSize > archive.size() || number_at<uint32_t>(archive, member.local) != kLocalSignature) {
    return bad(name + " is damaged");
  }
  const size_t from = member.local + kLocalSize + number_at<uint16_t>(archive, member.local + 26) +
                      number_at<uint16_t>(archive, member.local + 28);
  if (from > archive.size() || member.packed > archive.size() - from) return bad(name + " is cut off");
  const std::string_view packed = archive.substr(from, member.packed);
  std::string bytes;
  if (member.method == kStored) {
    if (member.packed != member.size) return bad(name + " is damaged");
    bytes = packed;
  } else if (member.method == kDeflated) {
    if (member.size / kMostInflated > member.packed) return bad(name + " is damaged");
    bytes.resize(member.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail(ErrorCode::kUnavailable, "no memory to unzip");
    char none = 0;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(bytes.empty() ? &none : bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    const int ended = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (ended != Z_STREAM_END || stream.avail_out != 0) return bad(name + " is damaged");
  } else {
    return bad(name + " is compressed in a way that is not known; there are stored and deflated");
  }
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  if (crc != member.crc) return bad(name + " is damaged");
  return bytes;
}

template <class Number>
void append(std::string& bytes, Number number) {
  for (size_t i = 0; i < sizeof(Number); ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

// The part that the local record and the directory have in common, from the version on.
void append_description(std::string& bytes, const std::string& name, uint32_t crc, size_t size) {
  constexpr uint16_t kNeeded = 20;
  append<uint16_t>(bytes, kNeeded);
  append<uint16_t>(bytes, 0);
  append<uint16_t>(bytes, kStored);
  append<uint32_t>(bytes, 0x00210000);  // 1 January 1980.
  append<uint32_t>(bytes, crc);
  append<uint32_t>(bytes, static_cast<uint32_t>(size));
  append<uint32_t>(bytes, static_cast<uint32_t>(size));
  append<uint16_t>(bytes, static_cast<uint16_t>(name.size()));
  append<uint16_t>(bytes, 0);
}

}  // namespace

void ZipWriter::add(const ZipEntry& entry, std::string_view bytes) {
  const std::string name = entry.folder ? entry.name + "/" : entry.name;
  const auto crc =
      static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  const auto at = static_cast<uint32_t>(archive_.size());
  append(archive_, kLocalSignature);
  append_description(archive_, name, crc, bytes.size());
  archive_ += name;
  archive_ += bytes;
  append(directory_, kCentralSignature);
  append<uint16_t>(directory_, static_cast<uint16_t>(kUnix << 8 | 20));
  append_description(directory_, name, crc, bytes.size());
  directory_.append(6, '\0');  // No comment, the first disk, nothing about the content.
  const uint32_t mode = entry.folder ? kFolder | 0755 : kFile | (entry.executable ? 0755 : 0644);
  append<uint32_t>(directory_, mode << 16);
  append(directory_, at);
  directory_ += name;
  ++count_;
}

std::string ZipWriter::finish() {
  const auto at = static_cast<uint32_t>(archive_.size());
  const auto size = static_cast<uint32_t>(directory_.size());
  archive_ += directory_;
  append(archive_, kEndSignature);
  append<uint32_t>(archive_, 0);
  append<uint16_t>(archive_, static_cast<uint16_t>(count_));
  append<uint16_t>(archive_, static_cast<uint16_t>(count_));
  append(archive_, size);
  append(archive_, at);
  append<uint16_t>(archive_, 0);
  return std::move(archive_);
}

Result<void> unzip(std::string_view archive, uint64_t limit,
                   const std::function<Result<void>(const ZipEntry&, std::string bytes)>& take) {
  auto members = directory_of(archive, limit);
  if (!members) return fail(std::move(members.error()));
  for (const Member& member : *members) {
    std::string bytes;
    if (!member.entry.folder) {
      auto content = content_of(archive, member);
      if (!content) return fail(std::move(content.error()));
      bytes = std::move(*content);
    }
    if (auto taken = take(member.entry, std::move(bytes)); !taken) return taken;
  }
  return {};
}

}  // namespace freshet
