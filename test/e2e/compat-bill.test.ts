// Embeddings and responses of every outcome: the ledger equals the vendor's own bill to the token, and only what was
// answered is stored. TROUPE_PROOF_CALLS makes more of them.
import test from 'ava';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { booksOf, setPlan, sharedNodeWithOpenAi, sumOf } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { storedBy } from '../support/database/stored-responses.js';
import { mixedCalls } from '../support/builders/mixed-calls.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import type { Script, SeenRequest } from '../support/servers/vendors/vendor-server.js';

const count = Math.ceil(Number(process.env['TROUPE_PROOF_CALLS'] ?? 2_000) / 10);
const server = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, server);

interface Kind {
  readonly scripts: readonly [Script, Script?];
  readonly stream?: boolean;
  /** The caller leaves at this text of the answer; empty: once the vendor has the request. */
  readonly leavesAt?: string;
  readonly isAnswered: boolean;
}

const answer: Script = { pieces: ['Yes', ', ', 'so', ' it', ' is'] };
const soon = { 'retry-after-ms': '1' };

const responses: Readonly<Record<string, Kind>> = {
  s: { isAnswered: true, stream: true, scripts: [answer] },
  w: { isAnswered: true, scripts: [answer] },
  t: { isAnswered: true, stream: true, scripts: [{ toolCalls: [{ id: 'c', name: 'f', args: ['{', '}'] }] }] },
  r: { isAnswered: true, stream: true, scripts: [{ status: 500, headers: soon }, answer] },
  q: { isAnswered: true, scripts: [{ status: 429, headers: soon }, answer] },
  b: { isAnswered: false, scripts: [{ status: 400 }] },
  m: { isAnswered: false, stream: true, scripts: [{ ...answer, failAfter: 2 }] },
  x: { isAnswered: false, stream: true, scripts: [{ ...answer, cutAfter: 3 }] },
  c: { isAnswered: false, stream: true, leavesAt: '", "', scripts: [{ ...answer, hangAfter: 2 }] },
};

const embeddings: Readonly<Record<string, Kind>> = {
  s: { isAnswered: true, scripts: [{}] },
  r: { isAnswered: true, scripts: [{ status: 500, headers: soon }, {}] },
  q: { isAnswered: true, scripts: [{ status: 429, headers: soon }, {}] },
  g: { isAnswered: true, scripts: [{ garbage: '<html>' }, {}] },
  v: { isAnswered: true, scripts: [{ missingVectors: 1 }, {}] },
  b: { isAnswered: false, scripts: [{ status: 400 }] },
  l: { isAnswered: false, leavesAt: '', scripts: [{ hangBeforeHeaders: true, billsWhileHanging: true }] },
};

/** The vendors of these tests count words, and the platform estimates as many for these texts. */
function promptOf(kind: string, nth: number, letters: number, perWord: number): string {
  const digits = Array.from({ length: letters - 1 }, (_, place) =>
    String.fromCharCode(97 + (Math.floor(nth / 26 ** place) % 26)),
  );
  const all = kind + digits.join('');
  return (all.match(new RegExp(`.{${perWord}}`, 'g')) ?? []).join(' ');
}

function promptIn({ body }: SeenRequest): string {
  const given = JSON.stringify([body['messages'], body['input']]);
  return /\b[a-z](?: [a-z]){5}\b|\b[a-z]{3}(?: [a-z]{3}){2}\b/.exec(given)?.[0] ?? '';
}

/** A key without the limits that these calls are not about. */
async function wideKey(node: TenantNode): Promise<string> {
  await setPlan(node, operatorToken, 'enterprise', { requests_per_minute: 100_000, key_rpm_max: 100_000 });
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const body = { name: 'wide', role: 'admin', rateLimitPerMinute: 50_000 };
  const { json, text, status } = await node.client.call('POST', '/api/keys', { token, tenant, body });
  if (status !== 201) throw new Error(`making a key: ${status} ${text}`);
  return json.data.api_key;
}

async function call(
  node: TenantNode,
  key: string,
  path: string,
  body: object,
  kind: Kind,
  arrived: () => boolean,
) {
  const leaving = new AbortController();
  const asked = fetch(`${node.node.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  if (kind.leavesAt === '') {
    asked.catch(() => undefined);
    await eventually(arrived);
    return leaving.abort();
  }
  const response = await asked;
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (kind.leavesAt !== undefined && text.includes(kind.leavesAt)) break;
  }
  if (kind.leavesAt !== undefined) return leaving.abort();
  const isAnswered = response.status === 200 && !text.includes('response.failed');
  if (isAnswered !== kind.isAnswered)
    throw new Error(`${path} ${JSON.stringify(body)}: ${response.status} ${text}`);
}

for (const [path, kinds, model] of [
  ['/v1/responses', responses, 'gpt-4.1-mini'],
  ['/v1/embeddings', embeddings, 'text-embedding-3-small'],
] as const) {
  test.serial(`${count} calls of ${path} with mixed outcomes equal the vendor's bill`, async (t) => {
    t.timeout(600_000);
    const node = await shared.tenant(t);
    const key = await wideKey(node);
    const letters = Object.keys(kinds);
    const [length, perWord] = path === '/v1/responses' ? [6, 1] : [9, 3];
    const seen = new Map<string, number>();
    server.decide = (request) => {
      const prompt = promptIn(request);
      const [first, then = first] = kinds[prompt[0] ?? '']?.scripts ?? [answer];
      seen.set(prompt, (seen.get(prompt) ?? 0) + 1);
      return seen.get(prompt) === 1 ? first : then;
    };
    let answered = 0;
    await mixedCalls(count, 16, async (nth) => {
      const letter = letters[nth % letters.length] ?? 's';
      const kind = kinds[letter];
      if (kind === undefined) return;
      const input = promptOf(letter, nth, length, perWord);
      if (kind.isAnswered) answered += 1;
      await call(node, key, path, { model, input, stream: kind.stream }, kind, () => seen.has(input));
    });
    const { rows, counted } = await eventually(async () => {
      const books = await booksOf(node);
      return books.rows.every(({ outcome }) => outcome !== null) ? books : undefined;
    });
    t.deepEqual(sumOf(rows), server.billed);
    t.is(rows.length, server.requests.length);
    t.is(counted, server.billed.input + server.billed.output);
    t.is((await storedBy(node)).length, path === '/v1/responses' ? answered : 0);
    const owner = await ownerView(node.databaseUrl);
    t.teardown(() => owner.end());
    // A call that its caller left is recorded after its row is closed.
    const told = await eventually(
      async () => {
        const { rows: sums } = await owner.query<{ calls: number; tokens: number }>(
          `select count(*)::int as calls, sum(input_tokens + output_tokens)::int as tokens
           from calls where tenant_id = $1`,
          [node.bootstrap.tenant_id],
        );
        return sums[0]?.calls === count ? sums : undefined;
      },
      { what: 'a record of each call' },
    );
    t.deepEqual(told, [{ calls: count, tokens: counted }]);
  });
}
