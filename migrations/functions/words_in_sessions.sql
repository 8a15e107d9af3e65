-- Those of the given sessions of this transaction's tenant with a message that has all the words
-- (src/conversations/sessions). A definer's function, like sessions_with_words(). The time grows with the number of the
-- sessions, not with that of the messages that have the words. migrations/0570_words_of_messages.sql tells why marks become
-- spaces.
create or replace function words_in_sessions(words text, among uuid[]) returns table (session_id uuid)
  language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
  select distinct m.session_id from public.messages m
  where numnode(plainto_tsquery('simple', translate(words_in_sessions.words, '<&-+~/._@:', '          '))) > 0
    and array_to_tsvector(array[m.tenant_id::text, 's ' || m.session_id::text])
        || to_tsvector('simple', translate(left(m.content, 200000), '<&-+~/._@:', '          '))
      @@ (plainto_tsquery('simple', translate(words_in_sessions.words, '<&-+~/._@:', '          '))
        && (select string_agg(quote_literal('s ' || id), ' | ') from unnest(words_in_sessions.among) id)::tsquery)
    and m.tenant_id = public.current_tenant()
$$;
revoke execute on function words_in_sessions from public;
grant execute on function words_in_sessions to troupe_app;
