// What programs do with the client. It imports nothing else, so that it runs in each runtime as it is.
import { ApiError, createClient, newIdempotencyKey, sign } from '@troupe/client';

/** @param {{ baseUrl: string, cutUrl: string, apiKey: string, agentId: string, longAgentId: string, secret: string }} given */
export async function program({ baseUrl, cutUrl, apiKey, agentId, longAgentId, secret }) {
  const troupe = createClient({ baseUrl, apiKey });
  const names = [];
  for await (const { name } of troupe.agents.list({ query: { limit: 1 } })) names.push(name);

  // Each connection of this client is cut after one event.
  const turn = createClient({ baseUrl: cutUrl, apiKey }).agents.chat(agentId, 'eight words');
  const events = [];
  for await (const event of turn) events.push(event);
  const whole = [];
  for await (const event of troupe.executions.follow(turn.executionId)) whole.push(event);

  const { outcome, text } = await troupe.agents.chat(agentId, 'again').result();
  const leaving = new AbortController();
  // So long a turn that its end cannot have arrived together with its first event.
  const left = troupe.agents.chat(longAgentId, 'left', { signal: leaving.signal });
  let reason = 'none';
  try {
    for await (const _ of left) leaving.abort(new Error('left'));
  } catch (error) {
    reason = error.message;
  }

  const live = new AbortController();
  const person = newIdempotencyKey();
  let told;
  const options = { signal: live.signal, lastEventId: '0', types: ['consumer_denylist_changed'] };
  const reading = troupe.realtime.events(options);
  await troupe.consumers.deny({ path: { key: person }, body: {} });
  for await (const { data } of reading) {
    told = data.consumer_key === person;
    if (told) break;
  }

  const refusal = await createClient({ baseUrl, apiKey: 'svc_live_nobody' })
    .quota.read()
    .catch((error) => error);
  const signed = await sign({ secret, body: 'body', timestampSeconds: 1_700_000_000 });
  return {
    agents: names.length > 0,
    events: events.length,
    isWhole: JSON.stringify(events) === JSON.stringify(whole),
    last: events.at(-1)?.type,
    outcome,
    hasText: text.length > 0,
    reason,
    told,
    refusal: refusal instanceof ApiError ? refusal.code : String(refusal),
    signature: signed['X-Webhook-Signature'],
  };
}
