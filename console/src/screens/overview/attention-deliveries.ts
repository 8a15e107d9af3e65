import { api, take } from '../../api/client';
import { type Attention, many, nextOf, pageMax, plural } from './attention-item';

const shownMax = 5;

/** Names of triggers, for roles that may read them. */
async function triggerNames(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const query = { limit: pageMax };
  const answer = await take(api.GET('/api/triggers', { params: { query }, signal })).catch(() => undefined);
  return new Map(answer?.data.map(({ id, name }) => [id, name]));
}

/** Answers that nobody took, by trigger; each leads to the place where they are sent again. */
export async function deliveries(signal: AbortSignal): Promise<readonly Attention[]> {
  const { data, ...page } = await take(
    api.GET('/api/v1/deliveries', {
      params: { query: { status: 'delivery_failed', limit: pageMax } },
      signal,
    }),
  );
  if (data.length === 0) return [];
  const names = await triggerNames(signal);
  const groups = new Map<string | null, (typeof data)[number][]>();
  for (const delivery of data) {
    const id = delivery.trigger_id;
    groups.set(id, [...(groups.get(id) ?? []), delivery]);
  }
  return [...groups].slice(0, shownMax).map(([id, rows]) => {
    const number = many(rows, nextOf(page));
    const of = id === null ? '' : ` of the trigger ${names.get(id) ?? id}`;
    const [first] = rows;
    return {
      id: `deliveries ${id ?? 'without a trigger'}`,
      tone: 'bad' as const,
      title: `${number} ${plural(number, 'answer', 'answers')}${of} ${plural(number, 'was', 'were')} not delivered`,
      detail: first?.last_error ?? 'The receiver refused them.',
      path:
        id === null
          ? `/inbox?session=${first?.session_id ?? ''}`
          : `/triggers/${id}?tab=deliveries&status=delivery_failed`,
    };
  });
}
