// The order of the frames of a link, and calls that are not sent yet.

import test from 'ava';
import { clusterConfig } from '../../../../cluster/config.js';
import { ClusterError } from '../../../../cluster/errors.js';
import { actorKind, viewNumber } from '../../../../cluster/ids/ids.js';
import { FrameWriter } from '../../../../cluster/links/frame-writer.js';
import { PeerLink } from '../../../../cluster/links/peer-link.js';
import type { Frame } from '../../../../cluster/links/pipe.js';
import { processQuestion } from '../../../../cluster/links/process-question.js';
import { type IncomingCall, ServerSession } from '../../../../cluster/links/server-session.js';
import { SeededRandom, VirtualTime } from '../../../../cluster/simulation/virtual-time.js';
import { member } from '../../../contracts/member-store.js';
import { callFrame } from '../../../support/builders/call-frame.js';
import { recordedPipe } from '../../../support/builders/recorded-pipe.js';

const config = clusterConfig();
const casesOf = (frames: readonly Frame[]): string => frames.map(({ frame }) => frame?.$case).join(' ');

test('later frames of a call wait for the end of its long body, those of other calls do not', async (t) => {
  const time = new VirtualTime();
  const { pipe, sent } = recordedPipe();
  const writer = new FrameWriter(
    pipe,
    time,
    config,
    () => true,
    () => t.fail('it may act'),
  );
  const item = (id: number) => (body: Uint8Array, more: boolean) => ({
    frame: { $case: 'item' as const, value: { id, body, more } },
  });
  writer.sendBody(1, new Uint8Array(2.5 * config.chunkBytes), item(1));
  writer.sendBody(1, new Uint8Array(1), item(1));
  writer.send(1, { frame: { $case: 'end', value: { id: 1 } } });
  writer.send(2, { frame: { $case: 'opened', value: { id: 2, epoch: 1 } } });
  await time.advance(10);
  t.is(casesOf(sent), 'item opened chunk chunk item end');
});

test('a caller receives the newer view before it reads "moved"', async (t) => {
  const time = new VirtualTime();
  const { pipe, sent } = recordedPipe();
  let feed: (frames: readonly Frame[]) => void = () => undefined;
  const greeted = {
    pipe,
    peer: 'peer',
    protocol: 1,
    attach: (onFrames: typeof feed) => {
      feed = onFrames;
    },
  };
  let received: IncomingCall | undefined;
  const session = new ServerSession(greeted, time, config, {
    mayAct: () => true,
    view: () => ({ number: viewNumber(5), hash: 'h' }),
    heardOfView() {},
    receive: (call) => {
      received = call;
      return { cancel() {}, grant() {}, detach() {} };
    },
    onClosed() {},
  });
  t.teardown(() => session.close());
  feed([
    { frame: { $case: 'method', value: { number: 1, kind: 'test.Kind', name: 'm' } } },
    { frame: callFrame(1) },
  ]);
  received?.answer.fail(new ClusterError('moved', 'owned by another node'));
  await time.advance(10);
  t.is(casesOf(sent), 'view failure');
});

test('a call that is not sent yet fails when its peer leaves the view, and may be sent elsewhere', async (t) => {
  const time = new VirtualTime();
  const host = {
    mayAct: () => true,
    view: () => ({ number: viewNumber(1), hash: 'h' }),
    heardOfView() {},
    refused() {},
  };
  const neverOpens = () => new Promise<never>(() => {});
  const link = new PeerLink(member('p2'), config, time, new SeededRandom(1), host, neverOpens, () =>
    t.fail('nothing is shed'),
  );
  t.teardown(() => link.close(new ClusterError('cancelled', 'the test ends')));
  link.keep();
  const failures: ClusterError[] = [];
  const answer = {
    reply: () => t.fail('nobody can answer'),
    fail: (error: ClusterError) => void failures.push(error),
  };
  link.call(processQuestion({ mode: 'release', kind: actorKind('test.Kind'), deadlineMs: 60_000, answer }));
  await time.advance(100);
  t.deepEqual(failures, []);
  link.release();
  t.deepEqual(
    failures.map(({ tag, notBegun }) => ({ tag, notBegun })),
    [{ tag: 'peer_lost', notBegun: true }],
  );
});
