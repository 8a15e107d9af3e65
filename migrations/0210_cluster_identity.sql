-- The identity of the installation (src/infra/runtime).

-- Tells this installation's nodes from those of another on the same Redis or network. The first node creates the row. Not
-- a tenant table.
create table cluster_identity (
  single boolean primary key default true check (single),
  name text not null,
  -- The secret that nodes prove to each other, sealed under the master key: it stays when the master key changes.
  sealed_secret bytea not null
);
grant select, insert, update on cluster_identity to troupe_directory;
