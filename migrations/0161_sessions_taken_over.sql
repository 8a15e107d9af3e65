-- Each message that is accepted asks whether people took its session over. Hardly any is: an index of those alone
-- answers without a look at the session, and is chosen also by a plan that was made while there were no sessions. Such a
-- plan took the index of a tenant's newest, and walked through all of them for each message until they were first
-- analysed: with five thousand, a batch of 60 messages took 47 ms instead of 5.
create index sessions_taken_over on sessions (tenant_id, id) where control_mode <> 'engaged';
