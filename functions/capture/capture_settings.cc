#include "functions/capture/capture_settings.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/url.h"
#include "functions/setting_reader.h"

namespace freshet {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::any_of(sets.begin(), sets.end(), [c](std::string_view set) { return set.find(c) != set.npos; });
  });
}

// These go into the headers of each request: without this check a wrong one would show only when the first file is put.
void read_signer(SettingReader& reader, ObjectTarget& target) {
  reader.text("CAPTURE_S3_REGION", target.region);
  if (target.region.empty() || target.region.size() > 64 || !consists_of(target.region, {kLower, kDigits, "-"})) {
    reader.report("CAPTURE_S3_REGION is '" + target.region +
                  "': it must be up to 64 lower-case letters, digits and hyphens");
  }
  reader.required("CAPTURE_S3_ACCESS_KEY_ID", target.access_key_id, "the id of the key that requests are signed with");
  const auto is_bad = [](char c) { return c <= ' ' || c == 0x7f || c == '/' || c == ',' || c == '='; };
  if (std::any_of(target.access_key_id.begin(), target.access_key_id.end(), is_bad)) {
    reader.report("CAPTURE_S3_ACCESS_KEY_ID is '" + target.access_key_id +
                  "': it must be of ASCII without blanks, line ends, slashes, commas and equals signs");
  }
  reader.required("CAPTURE_S3_SECRET_ACCESS_KEY", target.secret_access_key, "the secret of that key");
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  const std::string& secret = target.secret_access_key;
  if (!secret.empty() && (is_blank(secret.front()) || is_blank(secret.back()))) {
    reader.report("CAPTURE_S3_SECRET_ACCESS_KEY begins or ends with a blank or a line end: take that off");
  }
}

void read_target(SettingReader& reader, CaptureSettings& out) {
  ObjectTarget& target = out.target;
  reader.text("CAPTURE_S3_ENDPOINT", target.endpoint);
  if (target.endpoint.empty()) {
    for (const char* name : {"CAPTURE_S3_BUCKET", "CAPTURE_S3_ACCESS_KEY_ID", "CAPTURE_S3_SECRET_ACCESS_KEY"}) {
      const std::string* value = reader.find(name);
      if (value && !value->empty()) {
        reader.report(std::string(name) +
                      " is set without CAPTURE_S3_ENDPOINT: set that too, such as https://HOST:PORT");
      }
    }
    return;
  }
  const auto url = parse_url(target.endpoint);
  if (!url) return reader.report("CAPTURE_S3_ENDPOINT: " + url.error().message);
  if (url->target != "/") {
    return reader.report("CAPTURE_S3_ENDPOINT is '" + target.endpoint +
                         "': it must have no path; the bucket is CAPTURE_S3_BUCKET");
  }
  while (target.endpoint.back() == '/') target.endpoint.pop_back();
  reader.required("CAPTURE_S3_BUCKET", target.bucket, "the name of the bucket");
  if (!consists_of(target.bucket, {kLower, kDigits, ".-"}) || target.bucket.size() < 3 || target.bucket.size() > 63) {
    reader.report("CAPTURE_S3_BUCKET is '" + target.bucket +
                  "': it must be 3 to 63 lower-case letters, digits, dots and hyphens");
  }
  reader.text("CAPTURE_S3_PREFIX", out.prefix);
  if (!consists_of(out.prefix, {kLower, kUpper, kDigits, "._/-"}) || out.prefix.size() > 512 ||
      out.prefix.starts_with('/')) {
    reader.report(
        "CAPTURE_S3_PREFIX is '" + out.prefix +
        "': it must be up to 512 letters, digits, dots, underscores, hyphens and slashes, the first no slash");
  }
  if (!out.prefix.empty() && out.prefix.back() != '/') out.prefix += '/';
  read_signer(reader, target);
  reader.duration("CAPTURE_S3_TIMEOUT_MS", target.timeout, 1);
}

tl::unexpected<Error> bad_folder(const std::string& folder, const std::string& why) {
  return invalid("CAPTURE_FOLDER is '" + folder + "': it must be a folder that is there and can be written to: " + why);
}

}  // namespace

Result<CaptureSettings> capture_settings(const Environment& environment) {
  SettingReader reader(environment);
  CaptureSettings settings;
  reader.required("CAPTURE_FOLDER", settings.folder, "a folder that is there and can be written to");
  while (settings.folder.size() > 1 && settings.folder.back() == '/') settings.folder.pop_back();
  reader.whole("CAPTURE_FILE_BYTES", settings.limits.bytes, 1, 64 << 20);
  reader.duration("CAPTURE_FILE_S", settings.limits.age, 1, 1000);
  read_target(reader, settings);
  return reader.finish(std::move(settings));
}

Result<void> look_at_folder(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return bad_folder(folder, error ? error.message() : "it is no folder");
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) == 0) return {};
  return bad_folder(folder, std::error_code(errno, std::generic_category()).message());
}

Result<void> check_folder(Files& files, const std::string& folder) {
  const auto wrong = [&](const Error& error) { return bad_folder(folder, error.message); };
  if (auto names = files.list(folder); !names) return wrong(names.error());
  const std::string probe = folder + "/.freshet-probe";
  (void)files.remove(probe);  // A check that was cut off left it.
  auto file = files.open(probe, OpenMode::kCreate);
  if (!file) return wrong(file.error());
  file->reset();
  if (auto removed = files.remove(probe); !removed) return wrong(removed.error());
  return {};
}

}  // namespace freshet
