// The ObjectStore port (runtime/api/object_store.h) over HTTP: PutObject of the S3 protocol, path style, signed with
// AWS Signature Version 4 over the body too.
#pragma once

#include <memory>

#include "base/scheduler.h"
#include "runtime/api/object_store.h"
#include "runtime/ports.h"

namespace freshet {

// Both outlive it.
std::unique_ptr<ObjectStore> make_object_client(HttpClient& http, Scheduler& scheduler);

}  // namespace freshet
