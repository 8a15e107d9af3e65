-- Blanks the previews of a session's calls when a person is erased from it (src/models/usage): later prompts quote what
-- was said before.
create or replace function blank_previews_in_session(tenant uuid, session uuid) returns void
  language sql
as $$
  update calls set input_preview = '', output_preview = ''
    where tenant_id = tenant and session_id = session and (input_preview <> '' or output_preview <> '')
$$;
