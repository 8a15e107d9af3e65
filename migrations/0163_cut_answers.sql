-- Whether an answer that its sender waited for was longer than the chunks that it may have. Of one that is sent on its
-- own way, its delivery says so.
alter table executions add column answer_cut boolean not null default false;
