-- The sessions of this transaction's tenant with a message that has all the words (src/conversations/sessions). A definer's
-- function: see the policy `words` of messages. Words that are only punctuation find nothing.
-- migrations/0570_words_of_messages.sql tells why marks become spaces.
create or replace function sessions_with_words(words text) returns table (session_id uuid)
  language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
  select distinct m.session_id from public.messages m
  where numnode(plainto_tsquery('simple', translate(sessions_with_words.words, '<&-+~/._@:', '          '))) > 0
    and array_to_tsvector(array[m.tenant_id::text, 's ' || m.session_id::text])
        || to_tsvector('simple', translate(left(m.content, 200000), '<&-+~/._@:', '          '))
      @@ (plainto_tsquery('simple', translate(sessions_with_words.words, '<&-+~/._@:', '          '))
        && quote_literal(public.current_tenant()::text)::tsquery)
    and m.tenant_id = public.current_tenant()
$$;
revoke execute on function sessions_with_words from public;
grant execute on function sessions_with_words to troupe_app;
