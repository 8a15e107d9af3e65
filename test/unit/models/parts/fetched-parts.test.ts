// Many images and files of one request: what they may hold together, and that nothing stays held.
import test from 'ava';
import {
  EgressError,
  type OutboundRequest,
  type StreamedAnswer,
} from '../../../../src/infra/egress/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { attachmentsShape, type GivenPart, partReader } from '../../../../src/models/parts/index.js';
import { FetchedBytes } from '../../../../src/models/parts/fetched-bytes.js';
import { eventually } from '../../../support/clocks/eventually.js';

const megabyte = 1024 * 1024;
const mine = tenantScope('00000000-0000-4000-8000-000000000001');
const theirs = tenantScope('00000000-0000-4000-8000-000000000002');
const more = tenantScope('00000000-0000-4000-8000-000000000003');

interface Served {
  readonly signal: AbortSignal;
  isOpen: boolean;
}

/** Answers addresses `https://a/<megabytes>`; those with `?slow` send all but the last byte, and wait. */
function playedEgress() {
  const seen = { acceptedBytes: 0 };
  const fetches: Served[] = [];
  const releases: (() => void)[] = [];
  const piece = Buffer.alloc(64 * 1024, 'x');
  async function* bodyOf({ pathname, search }: URL, served: Served): AsyncGenerator<Uint8Array, void, void> {
    served.isOpen = true;
    const { signal } = served;
    let cancel = (): void => undefined;
    const left = new Promise<never>((_, reject) => {
      cancel = () => reject(new EgressError('cancelled', 'The caller left.', { host: 'away.test' }));
    });
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel);
    left.catch(() => undefined);
    try {
      for (let bytes = 0; bytes < Number(pathname.slice(1)) * megabyte; bytes += piece.length) {
        // Servers answer at the same time.
        await Promise.race([new Promise((resolve) => setImmediate(resolve)), left]);
        seen.acceptedBytes += piece.length;
        yield piece;
      }
      if (search === '?slow')
        await Promise.race([new Promise<void>((resolve) => releases.push(resolve)), left]);
    } finally {
      signal.removeEventListener('abort', cancel);
      served.isOpen = false;
    }
  }
  const streamGuarded = async ({ url, signal }: OutboundRequest): Promise<StreamedAnswer> => {
    if (!(signal instanceof AbortSignal)) throw new Error('a fetch needs its signal');
    const served = { signal, isOpen: false };
    fetches.push(served);
    return {
      status: 200,
      headers: { 'content-type': 'text/plain' },
      url: String(url),
      body: bodyOf(new URL(url), served),
      truncated: () => false,
    };
  };
  return {
    seen,
    fetches,
    egress: { checkUrl: (url: string) => new URL(url), streamGuarded },
    release: () => {
      for (const release of releases.splice(0)) release();
    },
  };
}

function placed(...parts: readonly object[]) {
  return parts.map((part, at) => {
    const [given] = attachmentsShape.parse([part]) as readonly GivenPart[];
    if (given === undefined) throw new Error('one part is given');
    return { part: given, field: `messages.0.content.${at}` };
  });
}

const copies = (count: number, part: object): object[] => Array.from({ length: count }, () => ({ ...part }));
const fileAt = (path: string): object => ({ type: 'file', url: `https://a/${path}` });
const files = (count: number, path: string) => placed(...copies(count, fileAt(path)));

const limits = { all: 256 * megabyte, each: 100 * megabyte };

test('fifty files of five megabytes are refused at the fifty-first megabyte, and the other fetches end', async (t) => {
  const { egress, fetches, seen } = playedEgress();
  const held = new FetchedBytes(limits);
  const read = partReader(egress, held);
  await t.throwsAsync(read(mine, files(50, '5')), {
    instanceOf: PlatformError,
    message: /more than 52428800 bytes together/,
  });
  t.true(seen.acceptedBytes <= 55 * megabyte, `${seen.acceptedBytes}`);
  t.is(held.bytes, 0);
  await eventually(() => fetches.every(({ isOpen }) => !isOpen), { what: 'the end of the other fetches' });
  t.true(fetches.every(({ signal }) => signal.aborted));
  t.true(fetches.length < 20, 'what waited for a place asks no server any more');
});

test('bytes that come with the request count too', async (t) => {
  const { egress } = playedEgress();
  const inline = { type: 'file', data: Buffer.alloc(5 * megabyte, 'x').toString('base64') };
  const all = [...copies(4, inline), ...copies(6, fileAt('5'))];
  const read = partReader(egress);
  t.is((await read(mine, placed(...all))).length, 10);
  const refused = read(mine, placed(...all, { type: 'file', data: 'eA==' }));
  await t.throwsAsync(refused, { instanceOf: PlatformError, code: 'payload_too_large' });
});

test('the first failure ends the other fetches', async (t) => {
  const { egress, fetches } = playedEgress();
  const held = new FetchedBytes(limits);
  const read = partReader(
    {
      ...egress,
      streamGuarded: async (request) => {
        if (String(request.url).endsWith('/away'))
          throw new EgressError('timeout', 'The host is away.', { host: 'away.test' });
        return egress.streamGuarded(request);
      },
    },
    held,
  );
  const parts = placed(...copies(3, fileAt('1?slow')), fileAt('away'), ...copies(3, fileAt('1?slow')));
  await t.throwsAsync(read(mine, parts), {
    message: /messages\.0\.content\.3\.url: cannot be fetched/,
  });
  t.true(fetches.length > 0 && fetches.every(({ signal }) => signal.aborted));
  await eventually(() => fetches.every(({ isOpen }) => !isOpen));
  t.is(held.bytes, 0);
});

test('what a request has fetched is held until it has all, and is given back then', async (t) => {
  const { egress, release } = playedEgress();
  const held = new FetchedBytes(limits);
  const reading = partReader(egress, held)(mine, files(5, '2?slow'));
  await eventually(() => held.bytes === 10 * megabyte);
  t.is(held.bytesOf(mine.tenantId), 10 * megabyte);
  release();
  const parts = await reading;
  t.deepEqual(
    parts.map(({ bytes }) => bytes.byteLength),
    Array(5).fill(2 * megabyte),
  );
  t.deepEqual([held.bytes, held.bytesOf(mine.tenantId)], [0, 0]);
});

test('a client that leaves gives its bytes back at once, also while its files wait for a place', async (t) => {
  const { egress, fetches, release } = playedEgress();
  const held = new FetchedBytes(limits);
  const read = partReader(egress, held);
  // The other request of the tenant has all places but one.
  const other = read(mine, files(5, '1?slow'));
  await eventually(() => held.bytes === 5 * megabyte);
  const leaving = new AbortController();
  const parts = placed(fileAt('3'), fileAt('2?slow'), fileAt('4'));
  const left = t.throwsAsync(read(mine, parts, leaving.signal), {
    instanceOf: PlatformError,
    code: 'client_closed',
  });
  await eventually(() => held.bytes === 10 * megabyte);
  leaving.abort();
  await left;
  t.is(held.bytes, 5 * megabyte);
  await eventually(() => fetches.at(-1)?.isOpen === false);
  t.is(fetches.length, 7, 'the third file is not asked for');
  release();
  t.is((await other).length, 5);
  t.is(held.bytes, 0);
  await t.throwsAsync(read(mine, parts, leaving.signal), { code: 'client_closed' });
  t.is(fetches.length, 7);
});

test('a tenant holds a bounded number of bytes, and the next request may be sent again', async (t) => {
  const { egress, release } = playedEgress();
  const held = new FetchedBytes({ all: 100 * megabyte, each: 10 * megabyte });
  const read = partReader(egress, held);
  const first = read(mine, files(4, '2?slow'));
  await eventually(() => held.bytes === 8 * megabyte);
  const refused = await t.throwsAsync(read(mine, files(1, '3')), { instanceOf: PlatformError });
  t.is(refused.code, 'service_unavailable');
  t.is(refused.retry, 'later');
  t.is(refused.retryAfterSeconds, 1);
  t.is(held.bytesOf(mine.tenantId), 8 * megabyte);
  t.is((await read(theirs, files(1, '3'))).length, 1);
  release();
  t.is((await first).length, 4);
  t.is((await read(mine, files(1, '3'))).length, 1);
  t.is(held.bytes, 0);
});

test('at the limit of the node the largest request of the tenant with the most bytes gives way', async (t) => {
  const { egress, fetches, release } = playedEgress();
  const held = new FetchedBytes({ all: 20 * megabyte, each: 18 * megabyte });
  const read = partReader(egress, held);
  const small = read(mine, files(1, '3?slow'));
  const large = t.throwsAsync(read(mine, files(2, '5?slow')), { code: 'service_unavailable' });
  await eventually(() => held.bytes === 13 * megabyte);
  const others = read(theirs, files(1, '5?slow'));
  await eventually(() => held.bytes === 18 * megabyte);
  const newcomer = read(more, files(1, '4?slow'));
  await large;
  await eventually(() => held.bytes === 12 * megabyte);
  t.is(held.bytesOf(mine.tenantId), 3 * megabyte);
  await eventually(() => fetches.filter(({ isOpen }) => isOpen).length === 3);
  release();
  for (const reading of [small, others, newcomer]) t.is((await reading).length, 1);
  t.is(held.bytes, 0);
});

test('a tenant that has the most itself is refused, and takes nothing from the others', async (t) => {
  const { egress, release } = playedEgress();
  const held = new FetchedBytes({ all: 10 * megabyte, each: 10 * megabyte });
  const read = partReader(egress, held);
  const others = read(theirs, files(1, '4?slow'));
  await eventually(() => held.bytes === 4 * megabyte);
  await t.throwsAsync(read(mine, files(2, '5')), { code: 'service_unavailable' });
  t.is(held.bytes, 4 * megabyte);
  release();
  t.is((await others).length, 1);
});
