import type { Call } from '../activation/call.js';
import type { ClusterConfig } from '../config.js';
import { ClusterError } from '../errors.js';
import type { ActorAddress, ProcessId } from '../ids/ids.js';
import type { Links } from '../links/links.js';
import { processQuestion } from '../links/process-question.js';
import {
  decodeMessage,
  encodeMessage,
  itemOverheadBytes,
  type OutgoingCall,
  type RemoteCall,
} from '../links/remote-call.js';
import type { Member, Membership } from '../membership/membership.js';
import { backoffMs } from '../time/backoff.js';
import { sleep, type Random, type Time } from '../time/time.js';

/**
 * The handoff of a busy actor (protocol 4). The new owner does not disturb the running turn: it asks that process to
 * answer when the turn has ended, and forwards control calls to it meanwhile. It stops waiting at the release, at the
 * deadline of the stamp, or when that process is surely gone.
 */
export interface HandoffParts {
  readonly config: ClusterConfig;
  readonly time: Time;
  readonly random: Random;
  readonly links: Links;
  readonly membership: Membership;
  memberEver(process: ProcessId): Member | undefined;
}

const askPause = { baseMs: 50, maxMs: 500 };
/** Time-out of one request. It is answered when the turn ends, so it is repeated from time to time. */
const askMs = 15_000;

export class Handoff {
  readonly #parts: HandoffParts;

  constructor(parts: HandoffParts) {
    this.#parts = parts;
  }

  /**
   * True if the stamp may be ignored although it is set: its process reported the end of the turn, or is surely gone.
   */
  async awaitRelease(
    address: ActorAddress,
    process: ProcessId,
    remainingMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { time, membership, random, links } = this.#parts;
    const untilMs = time.monotonicMs() + remainingMs;
    // A vanished process never answers: the request ends when the process is known to be gone.
    const over = new AbortController();
    const end = (): void => over.abort(new ClusterError('cancelled', 'the wait for the release has ended'));
    signal.addEventListener('abort', end, { once: true });
    membership.whenSurelyGone(process, over.signal).then(end, end);
    try {
      for (let attempt = 0; !signal.aborted; attempt += 1) {
        const leftMs = untilMs - time.monotonicMs();
        if (leftMs <= 0) return false;
        if (membership.surelyGone(process)) {
          // Control calls that were forwarded to it come back and are answered here.
          links.lose(process);
          return true;
        }
        const member = this.#parts.memberEver(process);
        const waitMs = Math.min(leftMs, askMs);
        if (member !== undefined && (await this.#ask(address, member, waitMs, over.signal))) return true;
        // `over` no longer interrupts the pause once it is aborted; without `signal` the loop would not pause at all.
        const cut = over.signal.aborted ? signal : over.signal;
        await pause(time, Math.min(leftMs, backoffMs(attempt, askPause, random)), cut);
      }
      return false;
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  }

  /** Forwards a control call to the process of the running turn. `otherwise` is called if no activation lives there. */
  forward(
    address: ActorAddress,
    process: ProcessId,
    call: Call,
    otherwise: (error: ClusterError) => void,
  ): void {
    const member = this.#parts.memberEver(process);
    const { config, time, links } = this.#parts;
    if (member === undefined) {
      otherwise(
        new ClusterError('not_serving', `process ${process} is in no view that this node has seen`, {
          notBegun: true,
        }),
      );
      return;
    }
    const outgoing: OutgoingCall = {
      mode: 'resident',
      kind: address.kind,
      method: call.method,
      group: address.group,
      key: address.key,
      body: encodeMessage(call.method.input, call.input, config.messageBytesMax),
      deadlineMs: call.deadlineAtMs - time.monotonicMs(),
      requestId: call.requestId,
      repeatable: false,
      traceparent: call.traceparent,
      tracestate: call.tracestate,
      callerGroup: call.group,
      chain: call.chain,
      credit: call.credit,
      answer: {
        opened: (newest) => call.openedStream(newest),
        reply: (bytes) => call.reply(decodeMessage(call.method.output, bytes)),
        // This node buffers nothing for the reader: its credit goes back to the sender, in the cost of the sender.
        item: (bytes) =>
          call.item(decodeMessage(call.method.output, bytes), bytes.length + itemOverheadBytes),
        end: () => call.endStream(),
        fail: (error) => {
          if (error.notBegun) otherwise(error);
          else call.fail(error);
        },
      },
    };
    // Set first: the call may fail at once.
    let remote: RemoteCall | undefined = undefined;
    call.source = { grant: (amount) => remote?.grant(amount), cancel: () => remote?.cancel() };
    remote = links.call(member, outgoing);
    if (call.ended) remote.cancel();
  }

  #ask(address: ActorAddress, member: Member, deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let remote: RemoteCall | undefined = undefined;
      const giveUp = (): void => {
        remote?.cancel();
        settle(false);
      };
      const timer = this.#parts.time.after(deadlineMs, giveUp);
      const settle = (released: boolean): void => {
        timer.cancel();
        signal.removeEventListener('abort', giveUp);
        resolve(released);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const answer = { reply: () => settle(true), fail: () => settle(false) };
      const question = processQuestion({ ...address, mode: 'release', deadlineMs, answer });
      remote = this.#parts.links.call(member, question);
    });
  }
}

/** A sleep that an abort ends early without an error. */
function pause(time: Time, delayMs: number, signal: AbortSignal): Promise<void> {
  return sleep(time, delayMs, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
