import type { ExecutionContext } from 'ava';
import type { Client } from '../clients/client.js';

/**
 * A node that has its share of a core answers so many requests in half a second, and on a slow machine as many in the
 * time that stands for it.
 */
const requestsOfAMoment = 200;

/** The condition holds before the node has answered so many requests, one after the other. */
export async function isSoon(
  t: Pick<ExecutionContext, 'true'>,
  { client }: { readonly client: Client },
  holds: () => boolean,
): Promise<void> {
  let answered = 0;
  for (; !holds() && answered < requestsOfAMoment; answered += 1) {
    await client.call('GET', '/health/live');
  }
  t.true(holds(), `not after ${answered} requests that were answered one after the other`);
}
