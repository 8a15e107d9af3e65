-- Whether an author, as src/conversations/invocation/author.ts writes it, is this consumer, alone or with others
-- (src/conversations/sessions).
create or replace function is_written_by(author jsonb, consumer_key text) returns boolean
  language sql immutable
as $$
  select coalesce(author ->> 'kind' = 'consumer' and author ->> 'id' = consumer_key
    or author -> 'others' ? consumer_key, false)
$$;
