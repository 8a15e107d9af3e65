/** The sums by hour of `call_hours`, as parts of the statements that record calls and close attempts. */

const names = [
  'tenant_id',
  'hour',
  'agent_id',
  'key_id',
  'user_id',
  'provider',
  'model',
  'call_source',
  'payer',
  'status',
  'failure',
] as const;

const sums = [
  'calls',
  'vendor_calls',
  'input_tokens',
  'output_tokens',
  'cost',
  'response_time_ms',
  'latency',
  'cache_hits',
  'cached_tokens',
  'cache_creation_tokens',
  'fallbacks',
  'ledger_calls',
  'ledger_input_tokens',
  'ledger_output_tokens',
  'ledger_cost',
] as const;

type Fact = Readonly<Record<(typeof names)[number] | (typeof sums)[number], string>>;

const nobody = "'00000000-0000-0000-0000-000000000000'::uuid";

function hourOf(column: string): string {
  return `date_trunc('hour', ${column}, 'UTC')`;
}

const noAttempts = {
  ledger_calls: '0',
  ledger_input_tokens: '0',
  ledger_output_tokens: '0',
  ledger_cost: '0::numeric',
} as const;

const noCalls = {
  calls: '0',
  vendor_calls: '0',
  input_tokens: '0',
  output_tokens: '0',
  cost: '0::numeric',
  response_time_ms: '0::float8',
  latency: '0::numeric',
  cache_hits: '0',
  cached_tokens: '0',
  cache_creation_tokens: '0',
  fallbacks: '0',
} as const;

const callFact: Fact = {
  tenant_id: 'c.tenant_id',
  hour: hourOf('c.started_at'),
  agent_id: `coalesce(c.agent_id, ${nobody})`,
  key_id: `coalesce(c.key_id, ${nobody})`,
  user_id: `coalesce(c.user_id, ${nobody})`,
  provider: 'c.provider',
  model: 'c.model',
  call_source: 'c.call_source',
  payer: "'none'",
  status: 'c.status',
  failure: "case when c.status = 'error' then coalesce(c.failure, 'unknown') else '' end",
  calls: '1',
  vendor_calls: '(not c.from_cache)::int',
  input_tokens: 'c.input_tokens',
  output_tokens: 'c.output_tokens',
  cost: 'c.cost::numeric',
  response_time_ms: 'c.response_time_ms',
  latency: 'latency_count(c.response_time_ms)',
  cache_hits: '(c.from_cache or c.cached_tokens > 0)::int',
  cached_tokens: 'c.cached_tokens',
  cache_creation_tokens: 'c.cache_creation_tokens',
  fallbacks: "(c.model <> c.first_model and c.status = 'success')::int",
  ...noAttempts,
};

const attemptFact: Fact = {
  tenant_id: 'a.tenant_id',
  hour: hourOf('a.opened_at'),
  agent_id: `coalesce(a.agent_id, ${nobody})`,
  key_id: `coalesce(a.key_id, ${nobody})`,
  user_id: `coalesce(a.user_id, ${nobody})`,
  provider: 'a.vendor',
  model: 'a.model',
  call_source: 'a.source',
  payer: 'a.payer',
  status: "case when a.outcome in ('completed', 'cancelled') then 'success' else 'error' end",
  failure:
    "case when a.outcome in ('completed', 'cancelled') then '' else coalesce(a.failure, a.outcome) end",
  ...noCalls,
  ledger_calls: '(a.attempt_number = 1)::int',
  ledger_input_tokens: 'a.input_tokens',
  ledger_output_tokens: 'a.output_tokens',
  ledger_cost: 'a.cost::numeric',
};

function factsOf(fact: Fact, from: string): string {
  return `select ${[...names, ...sums].map((name) => `${fact[name]} as ${name}`).join(', ')} from ${from}`;
}

/** The calls of the relation `inserted`. */
export const callFacts = factsOf(callFact, 'inserted c');

/** The attempts of the relation `closed`. */
export const attemptFacts = factsOf(attemptFact, 'closed a');

const whole = 'a.response_time_ms is not null';

/**
 * The attempts of the relation `closed`, of which those with a `response_time_ms` are whole calls as well. One fact for
 * both: the call and its only attempt have the same names, so that a batch changes one row for each group.
 */
export const answeredFacts = factsOf(
  {
    ...attemptFact,
    calls: `(${whole})::int`,
    vendor_calls: `(${whole})::int`,
    input_tokens: `case when ${whole} then a.input_tokens else 0 end`,
    output_tokens: `case when ${whole} then a.output_tokens else 0 end`,
    cost: `case when ${whole} then a.cost::numeric else 0 end`,
    response_time_ms: 'coalesce(a.response_time_ms, 0)',
    latency: 'coalesce(latency_count(a.response_time_ms), 0)',
    cache_hits: `(${whole} and a.cache_read_tokens > 0)::int`,
    cached_tokens: `case when ${whole} then a.cache_read_tokens else 0 end`,
    cache_creation_tokens: `case when ${whole} then a.cache_write_tokens else 0 end`,
  },
  'closed a',
);

const types: Partial<Record<(typeof sums)[number], string>> = {
  cost: 'numeric',
  response_time_ms: 'float8',
  latency: 'numeric',
  ledger_cost: 'numeric',
};

/** Adds facts to the sums of their hours, in key order, so that two batches never deadlock. */
export function hoursAdded(...facts: readonly string[]): string {
  const places = names.map((_, nth) => nth + 1).join(', ');
  return addedToHours(`
  select ${names.join(', ')}, ${sums.map((name) => `sum(${name})::${types[name] ?? 'bigint'}`).join(', ')}
  from (${facts.join(' union all ')}) facts
  group by ${places} order by ${places}`);
}

/** The same for at most one fact: without fifteen sums over one row, which take longer than the row. */
export function hourAdded(fact: string): string {
  return addedToHours(`select ${[...names, ...sums].join(', ')} from (${fact}) fact`);
}

function addedToHours(rows: string): string {
  return `
  insert into call_hours as h (${[...names, ...sums].join(', ')})
  ${rows}
  on conflict (${names.join(', ')}) do update set
    ${sums.map((name) => `${name} = h.${name} + excluded.${name}`).join(', ')}`;
}
