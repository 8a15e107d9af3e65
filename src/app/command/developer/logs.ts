import type { Client } from '#client';
import { wait } from './pause.js';
import { type Context, developerCommand } from './developer-command.js';
import { line } from './output.js';
import { defined } from './sessions.js';

/** Telemetry is written within seconds. */
const everyMs = 2_000;
const limitMax = 100;

type Entry = Awaited<ReturnType<Client['telemetry']['logs']>>['data'][number];

export const logsCommand = developerCommand({
  usage: ['logs [--follow] [--agent ID] [--model MODEL] [--failed] [--limit N]'],
  summary: 'The calls of models, oldest first: time, source, model, tokens, cost, and what was said.',
  options: {
    follow: { kind: 'flag', short: 'f', about: 'go on with those to come, until Ctrl-C' },
    agent: { kind: 'text', about: 'of this agent, by id' },
    model: { kind: 'text', about: 'of this model' },
    failed: { kind: 'flag', about: 'failed ones alone' },
    limit: { kind: 'text', about: 'at most so many at the start; 20 by default, at most 100' },
  },
  run: async (context) => {
    const { given, signal } = context;
    const limit = Number(given.text('limit') ?? '20');
    if (!Number.isInteger(limit) || limit < 1 || limit > limitMax) {
      throw context.wrong(`--limit must be a whole number from 1 to ${limitMax}`);
    }
    const client = await context.client();
    // With --follow the later requests return these calls again, so all of them count as seen, printed or not.
    const first = await entries(context, client, { limit: given.flag('follow') ? limitMax : limit });
    for (const entry of first.toReversed().slice(-limit)) print(context, entry);
    const seen = new Recent(first);
    while (given.flag('follow') && !signal.aborted) {
      await wait(everyMs, signal);
      for (const entry of await newEntries(context, client, seen)) print(context, entry);
    }
  },
});

/** The calls that no earlier request returned, oldest first. If a whole page is new, the next page is read too. */
async function newEntries(context: Context, client: Client, seen: Recent): Promise<readonly Entry[]> {
  const since = defined({ start_date: seen.since });
  const found: Entry[] = [];
  for (let page = 1; ; page += 1) {
    const entriesOfPage = await entries(context, client, { limit: limitMax, page, ...since });
    const fresh = entriesOfPage.filter((entry) => seen.isNew(entry));
    for (const entry of fresh) found.push(entry);
    if (entriesOfPage.length < limitMax || fresh.length < entriesOfPage.length) return found.toReversed();
  }
}

/** The entries already shown since the last few seconds, which may still get earlier neighbours. */
class Recent {
  readonly #shown = new Map<string, string>();
  #latest: string | undefined;

  constructor(entries: readonly Entry[]) {
    for (const entry of entries) this.isNew(entry);
  }

  /** A call is recorded when it ends, with the time of its beginning. */
  get since(): string | undefined {
    if (this.#latest === undefined) return undefined;
    return new Date(Date.parse(this.#latest) - 10 * 60_000).toISOString();
  }

  isNew({ id, timestamp }: Entry): boolean {
    if (this.#shown.has(id)) return false;
    this.#shown.set(id, timestamp);
    if (this.#latest === undefined || timestamp > this.#latest) this.#latest = timestamp;
    const since = this.since ?? '';
    for (const [old, at] of this.#shown) if (at < since) this.#shown.delete(old);
    return true;
  }
}

/** Newest first. */
async function entries(
  { given, signal }: Context,
  client: Client,
  query: { readonly limit: number; readonly page?: number; readonly start_date?: string },
): Promise<readonly Entry[]> {
  const filters = defined({
    agent_id: given.text('agent'),
    model: given.text('model'),
    status: given.flag('failed') ? ('error' as const) : undefined,
  });
  const { data } = await client.telemetry.logs({ query: { ...query, ...filters } }, { signal });
  return data;
}

function print({ given, out }: Context, entry: Entry): void {
  if (given.flag('json')) {
    out.json(entry);
    return;
  }
  const { metadata } = entry;
  const figures = `${entry.total_tokens} tokens  $${entry.cost.toFixed(4)}  ${Math.round(entry.response_time_ms)} ms`;
  out.print(
    `${out.style('dim', entry.timestamp)} ${out.style('cyan', entry.model)} ${entry.call_source}  ${figures}`,
  );
  out.print(`  ${out.style('dim', '›')} ${line(metadata.input_preview, 100)}`);
  out.print(`  ${out.style('dim', '‹')} ${line(metadata.output_preview, 100)}`);
}
