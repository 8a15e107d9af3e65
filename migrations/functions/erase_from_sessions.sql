-- Erases people from sessions in which others go on (src/conversations/sessions), as a JSON list of {tenant_id, session_id,
-- consumer_key}: their messages, the executions that these caused with all that belongs to them, and the answers. A
-- message that was joined from several people's goes if one of them is erased. A repeated call changes nothing more.
create or replace function erase_from_sessions(people jsonb) returns void
  language plpgsql
as $$
#variable_conflict use_column
declare
  one record;
  caused uuid[];
  files uuid[];
begin
  for one in
    select * from jsonb_to_recordset(people) as w (tenant_id uuid, session_id uuid, consumer_key text)
  loop
    select coalesce(array_agg(id), '{}') into caused from (
      select m.execution_id as id from messages m
      where m.tenant_id = one.tenant_id and m.session_id = one.session_id and m.execution_id is not null
        and is_written_by(m.author, one.consumer_key)
      union
      select e.id from executions e
      where e.tenant_id = one.tenant_id and e.session_id = one.session_id
        and is_written_by(e.input -> 'author', one.consumer_key)
    ) found;
    select coalesce(array_agg((file ->> 'id')::uuid), '{}') into files from (
      select jsonb_array_elements(m.attachments) as file from messages m
      where m.tenant_id = one.tenant_id and m.session_id = one.session_id
        and (m.execution_id = any(caused) or is_written_by(m.author, one.consumer_key))
      union
      select jsonb_array_elements(coalesce(e.input #> '{attachments}', '[]')) from executions e
      where e.tenant_id = one.tenant_id and e.id = any(caused)
    ) found;
    perform forget_attachments(one.tenant_id, files);
    delete from messages
      where tenant_id = one.tenant_id and session_id = one.session_id
        and (execution_id = any(caused) or is_written_by(author, one.consumer_key));
    delete from executions where tenant_id = one.tenant_id and id = any(caused);
    insert into ended_by_erasure (tenant_id, id, only_previews)
      select tenant_id, id, true from executions, wait_for_calls_of_execution(id)
      -- The summary that follows a turn is recorded after the turn's end.
      where tenant_id = one.tenant_id and session_id = one.session_id
        and (outcome is null or finished_at > now() - interval '10 minutes')
      on conflict do nothing;
    delete from session_participants
      where tenant_id = one.tenant_id and session_id = one.session_id and consumer_key = one.consumer_key;
    perform blank_previews_in_session(one.tenant_id, one.session_id);
    perform forget_events_in_session(one.tenant_id, one.session_id);
  end loop;
end
$$;
