// The other process of the benchmarks: a bare gRPC server, and a node that owns every actor.
import { ScriptedMembers } from '../../cluster/simulation/scripted-membership.js';
import { startBareServer } from './bare.js';
import { echo } from './echo.js';
import { memberOf, nodeOver, peersOf } from './nodes.js';

const members = new ScriptedMembers();
const port = Number(process.argv[2]);
const self = memberOf('server', `127.0.0.1:${port}`);
const node = nodeOver([echo], members.join(self), peersOf('server', port));
await node.listen();
await node.start(new AbortController().signal);
members.publish([self.process]);
const bare = await startBareServer();
process.send?.({ bare });
process.on('disconnect', () => process.exit(0));
