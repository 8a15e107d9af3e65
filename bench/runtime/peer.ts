// The second process of the benchmarks: a bare gRPC server, and a node that owns every actor. Its arguments are its
// port and, optionally, the database of the durable counter.
import { volatileCounter } from '../../cluster/example/counter.js';
import { ScriptedMembers } from '../../cluster/simulation/scripted-membership.js';
import { systemTime } from '../../cluster/time/system.js';
import { startBareServer } from './bare.js';
import { durableCounterOver } from './counters.js';
import { echo } from './echo.js';
import { memberOf, nodeOver, peersOf } from './nodes.js';

export interface PeerMessage {
  /** The port of the bare server. */
  readonly barePort: number;
}

const [port = '', databaseUrl] = process.argv.slice(2);
const members = new ScriptedMembers();
const self = memberOf('server', `127.0.0.1:${port}`);
const durable = databaseUrl === undefined ? [] : [durableCounterOver(databaseUrl).counter];
const kinds = [echo, volatileCounter(systemTime), ...durable];
const node = nodeOver(kinds, members.join(self), peersOf('server', Number(port)));
await node.listen();
await node.start(new AbortController().signal);
members.publish([self.process]);
const message: PeerMessage = { barePort: await startBareServer() };
process.send?.(message);
process.on('disconnect', () => process.exit(0));
