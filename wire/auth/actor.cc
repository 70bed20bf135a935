#include "wire/auth/actor.h"

#include <algorithm>

#include "wire/http/request_ids.h"

namespace freshet {

namespace {

// The part of a credential "KEY/DATE/REGION/SERVICE/aws4_request" before the first '/'.
std::string key_of(std::string_view credential) {
  return std::string(credential.substr(0, std::min(credential.find('/'), credential.find(','))));
}

// The id of the access key that the gate has written down; empty: none.
std::string access_key_of(const HttpRequest& request) {
  constexpr std::string_view kName = "Credential=";
  const std::string_view authorization = header(request.headers, "Authorization");
  const size_t place = authorization.find(kName);
  return place == std::string_view::npos ? std::string() : key_of(authorization.substr(place + kName.size()));
}

bool is_loopback(std::string_view peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]:") || peer.starts_with("[::ffff:127.");
}

}  // namespace

Actor actor_of(const HttpRequest& request, bool is_signed) {
  Actor out;
  if (request.peer) out.from = *request.peer;
  if (is_signed) {
    out.who = access_key_of(request);
  } else if (!out.from.empty() && !is_loopback(out.from)) {
    out.who = "unsigned";
  }
  const std::string_view id = header(request.headers, "X-Request-Id");
  const auto own = own_request_id(request.number);
  out.request = is_good_request_id(id) ? std::string(id) : std::string(own.data(), own.size());
  return out;
}

}  // namespace freshet
