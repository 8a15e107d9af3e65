// The index of the words of the transcripts takes every text, and in a short time: a text that it refuses, or that takes
// longer than a statement may, cannot be stored as a message.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type pg from 'pg';
import { listSessions } from '../../../../src/conversations/sessions/reads.store.js';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { SeededRandom } from '../../../../cluster/simulation/virtual-time.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
/** As many as the index takes of a text. */
const length = 200_000;
let store: Store;
let scope: TenantScope;
let owner: pg.Client;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
  scope = await insertTenant(store);
  owner = await ownerView(database.url);
  database.atEnd(() => owner.end());
  // As long as a statement of a turn may take.
  await owner.query(`set statement_timeout = '10s'`);
});

async function stored(content: string, { tenantId } = scope): Promise<string> {
  const id = randomUUID();
  await owner.query(
    `with agent as (
       insert into agents (tenant_id, id, document)
       values ($1, $2::uuid, jsonb_build_object('name', $2::text, 'type', 'chat')))
     insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
     values ($1, $2, $2, 0, 'chat', now(), now())`,
    [tenantId, id],
  );
  await owner.query(
    `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
     values ($1, $2, 1, gen_random_uuid(), 'user', $3, now())`,
    [tenantId, id, content],
  );
  return id;
}

/** The text of the parts with ascending numbers, as long as the index takes it. */
function filled(part: (number: number) => string): string {
  const parts: string[] = [];
  let characters = 0;
  for (let number = 0; characters < length; number += 1) {
    const one = part(number);
    parts.push(one);
    characters += Array.from(one).length;
  }
  return parts.join('');
}

interface Alphabet {
  readonly first: number;
  readonly size: number;
}

/** A word of so many letters that no other number has. */
function word(number: number, letters: number, { first, size }: Alphabet): string {
  let [left, made] = [number, ''];
  for (let place = 0; place < letters; place += 1) {
    made += String.fromCodePoint(first + (left % size));
    left = Math.floor(left / size) + place;
  }
  return made;
}

/** Letters of two, three and four bytes in UTF-8. */
const alphabets: Readonly<Record<string, Alphabet>> = {
  two: { first: 0x0400, size: 250 },
  three: { first: 0x4e00, size: 10_000 },
  four: { first: 0x20000, size: 10_000 },
};

for (const [name, alphabet] of Object.entries(alphabets)) {
  const of = (number: number, letters = 2): string => word(number, letters, alphabet);
  const texts: Readonly<Record<string, (number: number) => string>> = {
    words: (number) => `${of(number)} `,
    'long words': (number) => `${of(number, 500)} `,
    'words with a hyphen': (number) => `${of(2 * number)}-${of(2 * number + 1)} `,
    'long words with a hyphen': (number) => `${of(number, 250)}-${of(number + 9_999, 250)} `,
    'words with two hyphens': (number) => `${of(3 * number)}-${of(3 * number + 1)}-${of(3 * number + 2)} `,
    'letters and digits': (number) => `${of(number)}${number}-${number}${of(number)} `,
    addresses: (number) => `${of(number)}@${of(number)}-${of(number)}.example `,
    hosts: (number) => `http://${of(number)}.example/${of(number)}?a=${of(number)} `,
  };
  for (const [kind, part] of Object.entries(texts)) {
    test.serial(`${kind} with letters of ${name} bytes`, async (t) => {
      t.truthy(await stored(filled(part)));
    });
  }
}

test.serial('numbers of every kind', async (t) => {
  t.truthy(
    await stored(
      filled((number) => `${number} -${number} ${number}.${number} 1.${number}e-${number % 300} `),
    ),
  );
});

// The parser of PostgreSQL looks far ahead from marks: some of these took a minute for half as many characters.
for (const part of [
  'a_',
  '/~',
  '~/',
  'a-b.',
  'a-a.a-',
  'a-1-',
  '<!--',
  '<a ',
  'a.',
  'a@',
  'a/',
  '1.',
  '1e',
  '&a',
  '-',
  'http://',
])
  test.serial(`'${part}' again and again`, async (t) => {
    t.truthy(await stored(part.repeat(length / part.length)));
  });

test.serial('marks, letters and digits by chance', async (t) => {
  const random = new SeededRandom(7);
  const signs = Array.from('aZ1 _-+.,/~@:;<>&"=?!#%\u00e9\u0416\u4e00\u{20000}\u{1f600}\u0300\u00a0\t\n');
  for (let round = 0; round < 3; round += 1)
    t.truthy(await stored(filled(() => signs[Math.floor(random.fraction() * signs.length)] ?? '')));
});

test.serial('words with marks are found as a whole and by their parts', async (t) => {
  const other = await insertTenant(store);
  const id = await stored(
    'Write to the e-mail ada.lovelace@example.com about <b>order_4711</b>, 3.5 & https://example.org/a/b?c=d',
    other,
  );
  const found = async (search: string): Promise<boolean> => {
    const rows = await store.inTenant(other, (tx) =>
      listSessions(other, tx, { limit: 50, after: undefined, search }),
    );
    return rows.some((row) => row.id === id);
  };
  for (const search of [
    'e-mail',
    'MAIL',
    'ada.lovelace@example.com',
    'example.com',
    'lovelace',
    'order_4711',
    '4711',
    '3.5',
    'https://example.org/a/b?c=d',
    'example.org/a',
    '<b>order',
  ])
    t.true(await found(search), search);
  for (const search of ['e-post', 'ada@example.net', '4712', '-', '<>', '/~'])
    t.false(await found(search), search);
});
