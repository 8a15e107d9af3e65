-- Who wrote a message, and whose a session is among those who may only continue their own: {"kind", "id"}, see
-- src/conversations/author.ts. Null in rows from before, of which nobody can tell: owners and admins alone continue such
-- a session.
alter table messages add column author jsonb;
alter table sessions add column started_by jsonb;
