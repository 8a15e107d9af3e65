-- Bounds of the mails that tenants cause (src/tenancy/identity): notices go to owners who have verified their address, and
-- an address gets few invitations a day.
grant select (email_verified_at) on users to troupe_app;

-- How many invitation mails all tenants together sent to an address on a day (UTC). `subject` is a hash of the address, which
-- itself is not needed.
create table invitation_mails_by_address (
  subject bytea not null check (octet_length(subject) = 32),
  day date not null,
  sent int not null check (sent > 0),
  primary key (subject, day)
);
create index invitation_mails_by_address_day on invitation_mails_by_address (day);
grant select, delete on invitation_mails_by_address to troupe_directory;
