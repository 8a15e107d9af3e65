import { ClusterError } from '../errors.js';
import { actorKind } from '../ids/ids.js';
import type { Links } from '../links/links.js';
import { processQuestion } from '../links/process-question.js';
import type { Member } from '../membership/membership.js';
import type { Time } from '../time/time.js';

/** The kind name of calls to a process instead of an actor. */
const nodeKind = actorKind('troupe.cluster.v1.Node');

/** Asks a process itself. Rejects with a `ClusterError` at the deadline, or with that of the link or the process. */
export function askProcess(
  member: Member,
  mode: 'describe' | 'leave',
  links: Links,
  time: Time,
  deadlineMs: number,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const timer = time.after(deadlineMs, () => {
      remote.cancel();
      reject(new ClusterError('deadline_exceeded', `${member.process} did not answer in time`));
    });
    const question = processQuestion({
      mode,
      kind: nodeKind,
      deadlineMs,
      answer: {
        reply: (body) => {
          timer.cancel();
          resolve(body);
        },
        fail: (error) => {
          timer.cancel();
          reject(error);
        },
      },
    });
    const remote = links.call(member, question);
  });
}
