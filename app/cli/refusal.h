// Reads an answer with an error status, whichever API it comes from. Nothing of another server's answer is trusted:
// members of a wrong type count as absent.
#pragma once

#include <string>

#include "app/cli/remote.h"

namespace freshet::cli {

struct RefusalText {
  std::string code;  // "NotFoundException"; empty if there is none.
  std::string message;
};

// Reads {"error": {"code", "message"}}, which all of Freshet's own routes answer, or {"__type", "message"}, as AWS
// protocols have it. Any other answer is taken as text.
RefusalText refusal_in(const HttpResponse& response);
// The same of a document that was read already. Without a message in it, the message is the document.
RefusalText refusal_in(const Json& document);

// Says what to do about it, with "; " before it; empty if nothing is known. `credentials`: the file of --credentials,
// or empty.
std::string hint_at_key(const RefusalText& refusal, const std::string& credentials);

// Says it on standard error, with the hint. Returns the exit status.
int tell_refusal(const HttpResponse& response, const std::string& credentials);

// Says on standard error that there is no function `wanted`, and which there are. False, and nothing is said, if there
// is one or if that is not known.
bool tell_functions(BlockingClient& client, const std::string& wanted);

}  // namespace freshet::cli
