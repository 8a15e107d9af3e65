// A monitor whose link is lost, and what happens in its session until it comes back.
import test from 'ava';
import type { Call } from '../../../../cluster/index.js';
import type { WatchRequest, WatchResponse } from '../../../../generated/troupe/actors/v1/session.js';
import { LiveTurn } from '../../../../src/conversations/sessions/live-turn.js';
import type { ExecutionRow } from '../../../../src/conversations/sessions/rows.js';
import { SessionState } from '../../../../src/conversations/sessions/session-state.js';
import { watch, watchOn } from '../../../../src/conversations/sessions/session-watch.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const fresh: WatchRequest = { executionId: '', after: 0, others: undefined };

class WatchedSession {
  readonly time = new ManualTime('2026-01-01T00:00:00Z');
  readonly state: SessionState;

  constructor(epoch = 1) {
    const loaded = { session: undefined, messages: [], unfinished: [], steps: [], approvals: [] };
    this.state = new SessionState(loaded, epoch, this.time, () => undefined);
  }

  begin(id: string, epoch = 1): LiveTurn {
    const input = { message: '', declared_context: {} };
    const row = { id, status: 'queued', outcome: null, input } as ExecutionRow;
    const turn = new LiveTurn(row, epoch);
    this.state.add(turn);
    turn.log.append({ type: 'status', state: 'queued' });
    return turn;
  }

  end(turn: LiveTurn): void {
    turn.log.append({ type: 'delta', content: 'the end' });
    turn.log.close();
    turn.row = { ...turn.row, status: 'completed', outcome: 'COMPLETED' };
    this.state.ended(turn);
  }

  monitor(from: WatchRequest): Monitor {
    return new Monitor(this.state, from);
  }
}

/** One attempt of a monitor, until its link is lost. */
class Monitor {
  readonly #from: WatchRequest;
  readonly #lost = new AbortController();
  readonly #messages: AsyncGenerator<WatchResponse>;
  #last: WatchResponse | undefined;
  #ended = false;

  constructor(state: SessionState, from: WatchRequest) {
    this.#from = from;
    const isEnded = (): boolean => this.#ended;
    const call: Pick<Call, 'signal' | 'ended'> = {
      signal: this.#lost.signal,
      get ended() {
        return isEnded();
      },
    };
    this.#messages = watch(state, from, call as Call, () => false);
  }

  /** The turn of the next message and the places of its events. */
  async read(): Promise<string> {
    const { value } = await this.#messages.next();
    const message = value as WatchResponse;
    this.#last = message;
    return `${message.executionId} ${message.events.map(({ id }) => id % 2 ** 32).join(' ')}`;
  }

  /** What the next attempt asks for. */
  async loseLink(): Promise<WatchRequest> {
    this.#ended = true;
    const rest = this.#messages.next();
    this.#lost.abort();
    await rest;
    return this.#last === undefined ? this.#from : watchOn(fresh, this.#last);
  }
}

test('a monitor that comes back gets each event of every turn once', async (t) => {
  const session = new WatchedSession();
  const [first, second] = [session.begin('a'), session.begin('b')];
  const monitor = session.monitor(fresh);
  t.is(await monitor.read(), 'a 1');
  t.is(await monitor.read(), 'b 1');
  const from = await monitor.loseLink();
  session.end(first);
  const third = session.begin('c');
  session.end(third);
  second.log.append({ type: 'status', state: 'running' });
  const returned = session.monitor(from);
  t.is(await returned.read(), 'a 2');
  t.is(await returned.read(), 'b 2');
  t.is(await returned.read(), 'c 1 2');
  const again = session.monitor(await returned.loseLink());
  second.log.append({ type: 'delta', content: 'more' });
  t.is(await again.read(), 'b 3');
  await again.loseLink();
});

test('a monitor that comes back to a new owner does not get the first event of a queued turn again', async (t) => {
  const former = new WatchedSession();
  former.begin('a');
  former.begin('b');
  const monitor = former.monitor(fresh);
  await monitor.read();
  await monitor.read();
  const from = await monitor.loseLink();
  const owner = new WatchedSession(2);
  for (const id of ['a', 'b']) {
    const turn = owner.begin(id, 2);
    turn.log.append({ type: 'status', state: 'restarted' });
  }
  const returned = owner.monitor(from);
  t.is(await returned.read(), 'a 2');
  t.is(await returned.read(), 'b 2');
  await returned.loseLink();
});

test('a monitor of an owner that told no places gets other turns as a new one', async (t) => {
  const session = new WatchedSession();
  const [first, second] = [session.begin('a'), session.begin('b')];
  const kept = session.monitor(fresh);
  t.is(await kept.read(), 'a 1');
  session.end(first);
  const returned = session.monitor({ executionId: 'another', after: 7, others: undefined });
  t.is(await returned.read(), 'b 1');
  second.log.append({ type: 'status', state: 'running' });
  t.is(await returned.read(), 'b 2');
  await returned.loseLink();
  await kept.loseLink();
});

test('finished turns are kept for ten seconds after the last monitor has gone', async (t) => {
  const session = new WatchedSession();
  const turn = session.begin('a');
  const monitor = session.monitor(fresh);
  await monitor.read();
  const from = await monitor.loseLink();
  session.end(turn);
  session.time.advance(9_999);
  const returned = session.monitor(from);
  t.is(await returned.read(), 'a 2');
  session.time.advance(60_000);
  t.is(session.state.turn('a'), turn, 'it is watched');
  await returned.loseLink();
  session.time.advance(9_999);
  t.is(session.state.turn('a'), turn);
  session.time.advance(1);
  t.is(session.state.turn('a'), undefined);
  session.end(session.begin('b'));
  t.is(session.state.turn('b'), undefined, 'nobody watches');
});

test('nothing waits for the monitors of an activation that has ended', async (t) => {
  const session = new WatchedSession();
  session.begin('a');
  const monitor = session.monitor(fresh);
  await monitor.read();
  session.state.end();
  await monitor.loseLink();
  t.is(session.time.pending, 0);
});
