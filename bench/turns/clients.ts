import { connect } from 'node:net';

export interface TurnFigures {
  readonly turns: number;
  readonly seconds: number;
  readonly firstEventMs: Float64Array;
  readonly wholeMs: Float64Array;
}

export interface TurnLoad {
  readonly port: number;
  readonly key: string;
  readonly agent: string;
  readonly sessions: number;
  readonly seconds: number;
  /** Each session ends after this many turns, even if time is left. */
  readonly turnsEach?: number;
  /** Sessions that exist, one for each client; the clients open new ones by default. */
  readonly sessionIds?: readonly string[];
}

const end = Buffer.from('\r\n0\r\n\r\n');

/** Each connection is a client with its own session, which starts its next turn when the last one is done. */
export async function talk(load: TurnLoad): Promise<TurnFigures> {
  const firstEventMs: number[] = [];
  const wholeMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + load.seconds * 1_000;
  await Promise.all(
    Array.from({ length: load.sessions }, (_, index) =>
      client(load, load.sessionIds?.[index], endsAt, firstEventMs, wholeMs),
    ),
  );
  return {
    turns: wholeMs.length,
    seconds: (performance.now() - startedAt) / 1_000,
    firstEventMs: Float64Array.from(firstEventMs).sort(),
    wholeMs: Float64Array.from(wholeMs).sort(),
  };
}

function client(
  { port, key, agent, turnsEach = Number.POSITIVE_INFINITY }: TurnLoad,
  givenSession: string | undefined,
  endsAt: number,
  firstEventMs: number[],
  wholeMs: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sessionId = givenSession;
    let sentAt = 0;
    let sawEvent = false;
    let turns = 0;
    let pending = '';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const send = (): void => {
      const body = JSON.stringify({
        message: 'Say hello to the world, please.',
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
      });
      sentAt = performance.now();
      sawEvent = false;
      pending = '';
      socket.write(
        `POST /api/v2/agents/${agent}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('end', () => reject(new Error('the server closed the connection')));
    socket.on('data', (chunk: Buffer) => {
      pending += chunk.toString('latin1');
      if (!sawEvent && pending.includes('event: metadata')) {
        sawEvent = true;
        firstEventMs.push(performance.now() - sentAt);
      }
      sessionId ??= /"session_id":"([^"]+)"/.exec(pending)?.[1];
      if (!chunk.subarray(-end.length).equals(end) && !pending.endsWith('\r\n0\r\n\r\n')) {
        if (!pending.startsWith('HTTP/1.1 200') && pending.length > 12) reject(new Error(pending));
        return;
      }
      if (!pending.includes('"outcome":"COMPLETED"')) {
        reject(new Error(`a turn did not complete: ${pending}`));
        return;
      }
      wholeMs.push(performance.now() - sentAt);
      turns += 1;
      if (performance.now() < endsAt && turns < turnsEach) return send();
      socket.destroy();
      resolve();
    });
  });
}
