-- One call is read by its id (src/models/usage). The primary key begins with its time.
create index calls_by_id on calls (tenant_id, call_id);
