import type { BatchTarget } from '../../infra/storage/index.js';
import { callFacts, hoursAdded } from './hours.store.js';

/** Selects calls whose last attempt has its deadline in this span. */
export interface UnrecordedSpan {
  readonly since: string;
  readonly until: string;
}

/** The deadlines of a call's attempts differ by at most the call's own time. */
const betweenAttempts = "interval '15 minutes'";

/**
 * Records calls whose attempts are closed but which have no row: their process died between the two commits. A call
 * that is answered at its first attempt is recorded with the closing of that attempt and is not searched. If the
 * process records such a call later after all, its row exists and the call is counted once.
 */
export const unrecordedTarget: BatchTarget<UnrecordedSpan, 'looked'> = {
  name: 'tell_untold_calls',
  text: `with given (since, until) as (select * from unnest($1::timestamptz[], $2::timestamptz[])),
    ended as (
      select u.tenant_id, u.call_id, min(u.opened_at) as started_at, max(u.closed_at) as ended_at,
        (array_agg(u.attempt_id order by u.attempt_number desc))[1] as last_attempt,
        (array_agg(u.model order by u.attempt_number))[1] as first_model, count(*)::int as attempts,
        sum(u.input_tokens)::bigint as input_tokens, sum(u.output_tokens)::bigint as output_tokens,
        sum(u.cache_read_tokens)::bigint as cached_tokens, sum(u.cache_write_tokens)::bigint as cache_creation_tokens,
        sum(u.cost::numeric)::float8 as cost
      from given g
      join usage_rows u on u.deadline_at > g.since - ${betweenAttempts} and u.deadline_at <= g.until
      where u.outcome is not null and (u.outcome <> 'completed' or u.attempt_number > 1)
      group by 1, 2
      having max(u.deadline_at) > min(g.since) and count(*) = max(u.attempt_number)
    ),
    inserted as (
      insert into calls (tenant_id, started_at, call_id, key_id, user_id, agent_id, session_id, execution_id, call_source,
        provider, model, first_model, status, failure, from_cache, attempts, input_tokens, output_tokens, cached_tokens,
        cache_creation_tokens, cost, response_time_ms, input_preview, output_preview)
      select e.tenant_id, e.started_at, e.call_id, l.key_id, l.user_id, l.agent_id, l.session_id, l.execution_id,
        l.source, l.vendor, l.model, e.first_model,
        case when l.outcome in ('completed', 'cancelled') then 'success' else 'error' end,
        case when l.outcome = 'completed' then null else coalesce(l.failure, l.outcome) end, false, e.attempts,
        e.input_tokens, e.output_tokens, e.cached_tokens, e.cache_creation_tokens, e.cost,
        greatest(0, extract(epoch from e.ended_at - e.started_at)) * 1000, '', ''
      from ended e
      join usage_rows l on l.tenant_id = e.tenant_id and l.attempt_id = e.last_attempt
      where not exists (
          select from calls c
          where c.tenant_id = e.tenant_id and c.started_at = e.started_at and c.call_id = e.call_id
        )
        and not exists (
          select from usage_rows o where o.outcome is null and o.tenant_id = e.tenant_id and o.call_id = e.call_id
        )
      on conflict (tenant_id, started_at, call_id) do nothing returning *
    )
    ${hoursAdded(callFacts)}`,
  values: (spans) => [spans.map(({ since }) => since), spans.map(({ until }) => until)],
  outcomes: (spans) => spans.map(() => 'looked'),
};
