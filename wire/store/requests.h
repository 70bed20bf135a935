// Inputs of the seam (tables/tables.h) as requests of DynamoDB's JSON protocol. Pure functions; any thread.
//
// First replace the guards of puts by conditions, and edits by updates (tables/edit.h). `cause`, `measure`, `unhurried`
// and `by_statement` only concern the embedded store, and are ignored. Source: the API reference, version 2012-08-10.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tables/tables.h"

namespace freshet::remote {

std::string request_of(const PutItemInput& input);
std::string request_of(const UpdateItemInput& input);
std::string request_of(const DeleteItemInput& input);
std::string request_of(const GetItemInput& input);
std::string request_of(const QueryInput& input);
std::string request_of(const ScanInput& input);
// `token` must not be empty: it makes the request safe to repeat.
std::string request_of(const TransactWriteInput& input);
std::string request_of(const std::vector<GetItemInput>& transaction);

// BatchGetItem for keys of one table, with the projection and the consistency of `like`. No key may occur twice.
std::string batch_get_request(const GetItemInput& like, std::span<const Item> keys);

// Tables. A definition's books and its point-in-time recovery are not part of these requests.
std::string create_request(const TableDefinition& definition);
std::string table_request(const std::string& table);  // DescribeTable, DeleteTable, DescribeTimeToLive.
std::string list_request(const std::string& after);   // ListTables: the page behind the table `after`; "": the first.
std::string ttl_request(const std::string& table, const std::string& attribute, bool enabled);
std::string stream_request(const std::string& table, std::optional<StreamView> view);  // Empty switches it off.
// Billing and throughput of the table and of the indexes that both have.
std::string throughput_request(const TableDefinition& now, const TableDefinition& wanted);
std::string class_request(const TableDefinition& wanted);
std::string protection_request(const TableDefinition& wanted);
std::string add_index_request(const TableDefinition& definition, const IndexDefinition& index);
std::string drop_index_request(const std::string& table, const std::string& index);

}  // namespace freshet::remote
