-- Whether a user's token family has not ended (src/tenancy/identity). A transaction that makes something which outlives
-- the sign-in, such as a key, asks this after writing the row. A definer's function: the application's role cannot read
-- token families.
create or replace function sign_in_is_live(family uuid, signed_in uuid) returns boolean
  language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
  select exists (
    select from public.token_families f
    where f.id = sign_in_is_live.family and f.user_id = sign_in_is_live.signed_in and f.ended_at is null)
$$;
revoke execute on function sign_in_is_live from public;
grant execute on function sign_in_is_live to troupe_app;
