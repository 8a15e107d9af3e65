import { randomUUID } from 'node:crypto';
import { createClient } from '#client';
import { CommandError, isId, unknownAction } from '../command.js';
import { developerCommand } from './developer-command.js';
import { triggerNamed } from './names.js';
import { dataOf } from './payload.js';

const actions = ['send'];

export const webhooksCommand = developerCommand({
  usage: ['webhooks send <trigger> --data JSON|@FILE|- [--secret-env NAME]'],
  summary:
    'Sends a payload to a webhook trigger, by name or id, as an outside system does: signed with the webhook_secret\n' +
    'in a variable, else with the API key. Exit code 1: the platform refused it.',
  options: {
    data: { kind: 'text', short: 'd', about: 'the payload: text, @ and a file, or - for standard input' },
    'secret-env': {
      kind: 'text',
      about: 'the variable with the webhook_secret; TROUPE_WEBHOOK_SECRET by default',
    },
    sha512: { kind: 'flag', about: 'sign with SHA-512' },
    type: { kind: 'text', about: 'the content type; application/json by default' },
    id: { kind: 'text', about: 'the Idempotency-Key; random by default' },
  },
  actions,
  run: async (context) => {
    const { given, environment, out } = context;
    const [action, word] = given.words;
    if (action !== 'send') throw context.wrong(unknownAction(action, actions));
    const data = given.text('data');
    if (word === undefined || data === undefined) throw context.wrong('a trigger or --data is missing');
    const variable = given.text('secret-env') ?? 'TROUPE_WEBHOOK_SECRET';
    const secret = environment[variable] || undefined;
    if (secret === undefined && given.text('secret-env') !== undefined) {
      throw new CommandError(`${variable} is not set. Set it to the webhook_secret of the trigger.`);
    }
    // With a secret and an id, a sender needs no key.
    const isOutside = secret !== undefined && isId(word);
    const client = isOutside
      ? createClient({ baseUrl: (await context.profile()).url })
      : await context.client();
    const id = isId(word) ? word : (await triggerNamed(client, word)).id;
    const response = await client.webhooks.send(id, {
      payload: await dataOf(data),
      secret,
      algorithm: given.flag('sha512') ? 'sha512' : 'sha256',
      contentType: given.text('type') ?? 'application/json',
      idempotencyKey: given.text('id') ?? randomUUID(),
      signal: context.signal,
    });
    const text = await response.text();
    if (given.flag('json')) out.json({ status: response.status, body: text });
    else {
      out.note(`${response.status} ${response.statusText}`);
      out.print(text);
    }
    if (response.ok) return;
    process.exitCode = 1;
    if (response.status === 401) out.note(`Set ${variable} to the webhook_secret of the trigger.`);
  },
});
