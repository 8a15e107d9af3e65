// A strict program over the packed types: each line is right, or is marked as the error that it is.
import { type ChatInput, createClient, type TurnEvent, verify } from '@troupe/client';

const troupe = createClient({ baseUrl: ['http://a', 'http://b'], apiKey: () => 'svc_live_…' });
const { data: agents } = await troupe.agents.list({ query: { status: 'published' } });
const id: string | undefined = agents[0]?.id;
// @ts-expect-error no agent has this status
await troupe.agents.list({ query: { status: 'finished' } });
// @ts-expect-error the id is missing
await troupe.agents.get({ path: {} });
const input: ChatInput = { message: 'hello', consumer_key: 'crm:1042' };
for await (const event of troupe.agents.chat(id ?? '', input)) read(event);
for await (const session of troupe.sessions.list()) session.session_id.toUpperCase();
const file: Response = await troupe.exports.read({ path: { kind: 'calls' }, query: { format: 'csv' } });
await file.text();
const payload: { execution_id: string } = await verify({
  secret: 'whsec_',
  body: '',
  headers: new Headers(),
});
payload.execution_id.toUpperCase();

function read(event: TurnEvent): string {
  switch (event.type) {
    case 'delta':
      return event.content;
    case 'done':
      return event.outcome;
    default:
      // @ts-expect-error other events have no content of text
      return event.content;
  }
}
