-- What tells this installation's nodes from those of others on the same Redis or network, made once by the first node.
-- No tenant table.
create table cluster_identity (
  single boolean primary key default true check (single),
  name text not null,
  -- The secret that nodes show each other, sealed under the master key: it stays while a master key is changed.
  sealed_secret bytea not null
);
grant select, insert, update on cluster_identity to troupe_directory;
