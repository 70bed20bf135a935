// Bodies in gzip and deflate. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ports.h"

namespace freshet {

enum class Coding { kIdentity, kGzip, kDeflate };

// Parses a Content-Encoding header; empty for an unknown coding, or for several.
std::optional<Coding> parse_coding(std::string_view content_encoding);
// Chooses the coding of a response by an Accept-Encoding header: the one of gzip, deflate and identity with the highest
// weight, the first of equal ones; kIdentity if the client accepts none of them, or there is no header. "x-gzip" is not
// accepted, as in the item store's service.
Coding preferred_coding(std::string_view accept_encoding);

// Decompresses a body. "deflate" is read with and without the header of zlib, as clients send both. At most `limit`
// bytes: kRequestTooLarge as soon as there are more, whatever the body claims, so that a decompression bomb takes
// neither time nor memory beyond that. kSerialization for data that is damaged or ends too early.
Result<std::string> inflate_body(std::string_view body, Coding coding, size_t limit);

// Compresses the body of a response and sets its headers, if it is large enough and becomes smaller.
void compress_answer(HttpResponse& response, Coding coding);

}  // namespace freshet
