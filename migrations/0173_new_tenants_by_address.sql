-- How many tenants an address made on a day (UTC), by registering or otherwise. The subject is a hash, since nobody
-- needs the addresses themselves. Written by nodes that know the bound; an older node beside them counts nothing.
create table new_tenants_by_address (
  subject bytea not null check (octet_length(subject) = 32),
  day date not null,
  made int not null check (made > 0),
  primary key (subject, day)
);
create index new_tenants_by_address_day on new_tenants_by_address (day);

grant select, insert, update, delete on new_tenants_by_address to troupe_directory;
