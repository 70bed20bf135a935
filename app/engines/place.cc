#include "app/engines/place.h"

#include <filesystem>
#include <utility>

#include "base/url.h"
#include "wire/store/reach.h"

namespace freshet::engines {

bool is_endpoint(const std::string& where) {
  return where.starts_with("http://") || where.starts_with("https://");
}

namespace {

// HOST:PORT, as somebody writes it who forgets the scheme.
bool looks_like_address(std::string where) {
  while (where.ends_with('/')) where.pop_back();
  const size_t colon = where.rfind(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < where.size() && where.find('/') == std::string::npos &&
         where.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

}  // namespace

Result<std::unique_ptr<Place>> Place::open(const std::string& where, const PlaceOptions& options, StoreLoop& loop) {
  std::unique_ptr<Place> place(new Place(loop));
  auto opened =
      is_endpoint(where) ? place->open_endpoint(where, options.region) : place->open_folder(where, options.writable);
  if (!opened) return fail(opened.error());
  return place;
}

Place::~Place() {
  if (in_loop_) loop_.loop().remove(*store_);
}

Result<void> Place::open_folder(const std::string& folder, bool writable) {
  std::error_code ignored;
  if (looks_like_address(folder) && !std::filesystem::is_directory(folder, ignored)) {
    return invalid("there is no data folder " + folder + "; an endpoint begins with http:// or https://");
  }
  if (!writable && !std::filesystem::is_directory(folder, ignored)) {
    return fail(ErrorCode::kNotFound, "there is no data folder " + folder);
  }
  EmbeddedOptions options;
  options.directory = folder;
  auto opened = open_embedded(files_.get(), loop_.loop(), loop_.random(), std::move(options));
  if (!opened) return fail(opened.error());
  store_ = std::move(*opened);
  // Without turns of the loop nothing is ever written.
  if (writable) loop_.loop().add(*store_);
  in_loop_ = writable;
  return {};
}

Result<void> Place::open_endpoint(const std::string& where, const std::string& region) {
  std::string url = where;
  while (url.ends_with('/')) url.pop_back();
  const auto parsed = parse_url(url);
  if (!parsed) return fail(parsed.error());
  if (parsed->target != "/") return invalid(where + ": an endpoint is http[s]://HOST[:PORT], without a path");
  url_ = url;
  const remote::KeyPlaces places = remote::own_places();
  keys_ = remote::keys_from(places, loop_.http(), loop_.loop());
  remote::CallerOptions options;
  options.endpoints = {url};
  options.region = region.empty() ? remote::Profiles(places).region() : region;
  if (options.region.empty()) options.region = "us-east-1";
  // A command that a person waits for is patient with an engine that is busy.
  options.timeout = milliseconds(10'000);
  options.attempts = 8;
  stream_caller_ = std::make_unique<remote::Caller>(remote::streams_caller_options(options), loop_.http(), *keys_,
                                                    loop_.loop(), loop_.random());
  caller_ = std::make_unique<remote::Caller>(std::move(options), loop_.http(), *keys_, loop_.loop(), loop_.random());
  remote_ = std::make_unique<remote::RemoteTables>(*caller_, loop_.random());
  streams_ = std::make_unique<remote::RemoteStreams>(*caller_, *stream_caller_);
  return {};
}

Async<Result<void>> Place::reach() {
  if (url_.empty()) return Result<void>();
  return remote::reach(loop_.http(), loop_.loop(), {url_});
}

}  // namespace freshet::engines
