// Streams of single chunks, as from a model: the number of chunks that pass, and their lateness.
import { connect } from 'node:net';
import type { BenchServer } from '../support/servers.js';
import { percentile } from '../support/load.js';
import type { Vendor } from './vendor.js';

export interface PacedResult {
  readonly offered: number;
  readonly carried: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Reasons why streams ended early, with their counts. */
  readonly cut: ReadonlyMap<string, number>;
  /** From the vendor's write to the client's read. */
  readonly delaysMs: Float64Array;
}

export interface PacedLoad {
  readonly streams: number;
  readonly everyMs: number;
  readonly seconds: number;
  readonly request: string;
}

const mark = Buffer.from('"content":" ');
const closing = Buffer.from('[DONE]');
const numberCharsMax = 20;
const tailBytes = 300;
const reasonsMax = 3;

/** Each stream is one answer that lasts for the whole load. All start before the vendor's timer does. */
export async function pacedStreams(
  server: BenchServer,
  vendor: Vendor,
  load: PacedLoad,
): Promise<PacedResult> {
  const chunks = Math.round((load.seconds * 1_000) / load.everyMs);
  vendor.pace({ chunks, everyMs: load.everyMs });
  const before = { cpu: await server.cpuSeconds(), written: vendor.written, at: performance.now() };
  const delays: number[] = [];
  const ends = await Promise.all(
    Array.from({ length: load.streams }, () => oneStream(server.port, load.request, delays)),
  );
  const seconds = (performance.now() - before.at) / 1_000;
  vendor.pace(undefined);
  return {
    offered: vendor.written - before.written,
    carried: delays.length,
    cut: counted(ends.filter((end) => end !== undefined)),
    seconds,
    cpuSeconds: (await server.cpuSeconds()) - before.cpu,
    delaysMs: Float64Array.from(delays).sort(),
  };
}

/** Undefined if the stream completed; otherwise the status and the last bytes. */
function oneStream(port: number, request: string, delays: number[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let status = 'no answer';
    let tail = '';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(request));
    let rest: Buffer = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      const now = performance.now();
      if (status === 'no answer') status = bytes.toString('latin1', 9, 12);
      tail = bytes.toString('utf8', Math.max(0, bytes.length - tailBytes));
      if (status !== '200') return finish(`${status} ${tail}`);
      const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      let from = 0;
      for (let at = all.indexOf(mark); at !== -1; at = all.indexOf(mark, from)) {
        const start = at + mark.length;
        const text = all.toString('latin1', start, start + numberCharsMax);
        const end = text.indexOf(';');
        // A mark split over two packets is read when the second arrives.
        if (end === -1 && start + numberCharsMax > all.length) break;
        from = start;
        if (end !== -1) delays.push(now - Number(text.slice(0, end)));
      }
      rest = all.subarray(Math.max(from, all.length - mark.length - numberCharsMax));
      if (!rest.includes(closing)) return;
      finish(undefined);
    });
    socket.on('error', reject);
    socket.on('end', () => finish(`${status}, closed after: ${tail}`));

    function finish(reason: string | undefined): void {
      socket.destroy();
      resolve(reason);
    }
  });
}

/** Groups reasons without their numbers and times, which differ between streams. */
function counted(reasons: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const reason of reasons) {
    const kind = reason.replaceAll(/\s+/g, ' ').replaceAll(/\d[\d.]{3,}/g, '#');
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

export function shareLate({ delaysMs }: PacedResult, lateMs: number): number {
  return delaysMs.filter((delay) => delay > lateMs).length;
}

export function report(name: string, result: PacedResult): string {
  const { offered, carried, cut, seconds, cpuSeconds, delaysMs } = result;
  const rate = Math.round(carried / seconds);
  const share = ((100 * carried) / Math.max(1, offered)).toFixed(1);
  const [p50, p99, most] = [0.5, 0.99, 1].map((at) => percentile(delaysMs, at).toFixed(1));
  const total = [...cut.values()].reduce((sum, count) => sum + count, 0);
  const reasons = [...cut].toSorted((one, other) => other[1] - one[1]).slice(0, reasonsMax);
  const reasonLines = reasons.map(([reason, count]) => `\n${' '.repeat(15)}${count} × ${reason}`).join('');
  return `  ${name.padEnd(12)} ${rate} chunks/s carried (${share} % of the chunks written) with ${(cpuSeconds / seconds).toFixed(2)} of a core; delay p50 ${p50}, p99 ${p99}, max ${most} ms${total === 0 ? '' : `; ${total} streams were cut off${reasonLines}`}`;
}
