-- Deletes attachments whose messages are erased (src/conversations/attachments).
create or replace function forget_attachments(tenant uuid, ids uuid[]) returns void
  language sql
as $$
  delete from attachments where tenant_id = tenant and id = any(ids)
$$;
