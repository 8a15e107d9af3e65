-- The last errors of all nodes (src/infra/diagnostics). Not a tenant table: the operator alone reads all of it, and the
-- public endpoint tells code, fixed message and time. A row holds no word of a request.
create table recent_errors (
  number bigint primary key generated always as identity,
  id uuid not null,
  occurred_at timestamptz not null,
  node text not null,
  -- As the client saw it.
  code text not null,
  -- The fixed message of the code.
  message text not null,
  request_id text,
  operation text,
  about_tenant uuid,
  -- The turn that failed, if no request did.
  execution_id uuid
);

grant select, insert, delete on recent_errors to troupe_directory;
