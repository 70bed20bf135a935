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

// What a Content-Encoding header says; nothing if it names a coding that is not known here, or several.
std::optional<Coding> parse_coding(std::string_view content_encoding);
// How an Accept-Encoding header wants an answer: the one of gzip, deflate and identity that it weighs most, of equal
// ones the first that it names; kIdentity if it takes none of them, or there is none. "x-gzip" is not taken, as the
// item store's service does not.
Coding preferred_coding(std::string_view accept_encoding);

// What was compressed. "deflate" is read with and without the header of zlib, as clients send both. At most `limit`
// bytes: kRequestTooLarge as soon as there are more, whatever the body claims, so that a small bomb takes neither time
// nor memory beyond that. kSerialization for data that is broken or ends too early.
Result<std::string> inflate_body(std::string_view body, Coding coding, size_t limit);

// Compresses the body of an answer and says so in its headers, if it is large enough and gets smaller by it.
void compress_answer(HttpResponse& response, Coding coding);

}  // namespace freshet
