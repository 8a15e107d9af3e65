-- Blanks the previews of the calls of a deleted session (src/models/usage). The rows stay: they are figures and cost.
create or replace function blank_previews_of_session() returns trigger
  language plpgsql
as $$
begin
  update calls set input_preview = '', output_preview = ''
    where tenant_id = old.tenant_id and session_id = old.id and (input_preview <> '' or output_preview <> '');
  return null;
end
$$;

create or replace trigger blank_previews after delete on sessions
  for each row execute function blank_previews_of_session();
