import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Kind } from '../../cluster/activation/kind.js';
import type { ClusterNode } from '../../cluster/node/node.js';
import { ScriptedMembers } from '../../cluster/simulation/scripted-membership.js';
import { freePort } from '../../test/support/servers/free-port.js';
import { memberOf, nodeOver, peersOf } from './nodes.js';
import type { PeerMessage } from './peer.js';

export interface SecondProcess {
  /** The node of this process. It owns no actor; the actors it calls are in the other process. */
  readonly node: ClusterNode;
  readonly peer: PeerMessage;
  stop(): Promise<void>;
}

/** Starts a process that owns every actor, and a node in this process that calls them. */
export async function startSecondProcess(
  kinds: readonly Kind[],
  databaseUrl?: string,
): Promise<SecondProcess> {
  const port = await freePort();
  const program = fileURLToPath(new URL('peer.js', import.meta.url));
  const child = fork(program, [String(port), ...(databaseUrl === undefined ? [] : [databaseUrl])]);
  const peer = await new Promise<PeerMessage>((resolve, reject) => {
    child.once('message', (message) => resolve(message as PeerMessage));
    child.once('exit', (code) => reject(new Error(`the second process exited with code ${code}`)));
  });
  const members = new ScriptedMembers();
  const owner = memberOf('server', `127.0.0.1:${port}`);
  members.join(owner);
  const node = nodeOver(kinds, members.join(memberOf('client', '127.0.0.1:0')), peersOf('client', 0));
  await node.start(new AbortController().signal);
  members.publish([owner.process]);
  return {
    node,
    peer,
    async stop() {
      await node.stop();
      child.disconnect();
    },
  };
}
