-- Who signs in through an outside issuer, and whose address was ever proved.

-- Null: nobody has proved to read this address's mail.
alter table users add column email_verified_at timestamptz;

-- The token of an invitation is in the mail alone: whoever accepted one read the mail of its address.
create policy owner on users to current_user using (true) with check (true);
create policy owner on invites to current_user using (true) with check (true);
update users u set email_verified_at = i.proved_at
from (
  select accepted_by, lower(email) as email, min(closed_at) as proved_at from invites
  where status = 'accepted' group by accepted_by, lower(email)
) i
where i.accepted_by = u.id and i.email = lower(u.email);
drop policy owner on users;
drop policy owner on invites;

-- An issuer names a person by a subject that never changes and is never given to another person. An address may be both.
create table outside_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users (id) on delete cascade,
  linked_at timestamptz not null,
  primary key (issuer, subject)
);
-- One person of an issuer for each account: the second of two first sign-ins at once fails here.
create unique index outside_identities_user on outside_identities (user_id, issuer);

grant select, insert on outside_identities to troupe_directory;

alter table token_families drop constraint token_families_end_reason_check;
alter table token_families add constraint token_families_end_reason_check
  check (end_reason in ('signed-out', 'replayed', 'disabled', 'address-proved'));

-- Whoever takes an account over by its address ends the keys of its tenants in the same transaction.
grant update (revoked_at) on api_keys to troupe_directory;
create policy directory_revokes on api_keys for update to troupe_directory using (true) with check (true);

-- For what outlives the sign-in that made it, such as a key: asked in the transaction that makes it, after the row was
-- written. Families belong to no tenant, so the application's role cannot read them.
create function sign_in_is_live(family uuid, signed_in uuid) returns boolean
  language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
  select exists (
    select from public.token_families f
    where f.id = sign_in_is_live.family and f.user_id = sign_in_is_live.signed_in and f.ended_at is null)
$$;
revoke execute on function sign_in_is_live from public;
grant execute on function sign_in_is_live to troupe_app;
