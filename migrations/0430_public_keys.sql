-- Public keys (src/tenancy/keys): a key with origins and agents may only chat with these agents, from pages of these
-- origins. Both columns are null for every other key. A node that does not know them takes no public key, because it
-- refuses the form of its text.
alter table api_keys
  add column origins text[],
  add column agent_ids uuid[];

grant update (origins, agent_ids) on api_keys to troupe_app;
