import { sql } from '../../infra/storage/index.js';

/**
 * Whether older messages of the session run, of a row that is being inserted to run. A message that was acknowledged before
 * this one was sent is committed, so the statement sees it. It reads one entry of the index of running messages.
 */
export const isBehindInserted: ReturnType<typeof sql.fragment> = sql.fragment`(
  select o.seq from trigger_inbox o
  where o.session_id = trigger_inbox.session_id and o.state = 'running' and o.seq < trigger_inbox.seq
    and (o.tenant_id = trigger_inbox.tenant_id) is true
  order by o.seq desc limit 1) is not null`;
