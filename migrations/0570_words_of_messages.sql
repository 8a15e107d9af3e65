-- The words of the transcripts, in an index that takes every text (src/conversations/sessions). The one before refused some,
-- with the turns that wrote them: the parser finds a word with hyphens, and the host and the path of an address, as a whole
-- and in parts, up to 8 bytes for each character, where PostgreSQL takes 1,048,575 in all. And it looks far ahead from each
-- of the marks that can begin such a word: 100,000 characters of 'a_a_a_' took a minute. Without these marks each character
-- is in one word, of at most 4 bytes for each, also with the space and the place of the word: 800,000 for the cut text.
-- functions/words_in_sessions.sql and functions/sessions_with_words.sql have the same expression.
--
-- outside a transaction: nodes write messages while the index is built
-- No node names the index that goes, and the functions that use it get their new text after this file.
-- contract: 0.1.0
drop index concurrently if exists messages_with_words;
create index concurrently messages_with_words on messages using gin
  ((array_to_tsvector(array[tenant_id::text, 's ' || session_id::text])
    || to_tsvector('simple', translate(left(content, 200000), '<&-+~/._@:', '          '))))
  with (gin_pending_list_limit = 512);
drop index concurrently if exists messages_words;
