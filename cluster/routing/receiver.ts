import type { ActorTable } from '../activation/actor-table.js';
import { Call, type CallOrigin, type ReplySink } from '../activation/call.js';
import type { Kind } from '../activation/kind.js';
import type { Method } from '../activation/method.js';
import type { ClusterConfig } from '../config.js';
import { ClusterError, toClusterError } from '../errors.js';
import { epoch, requestId } from '../ids/ids.js';
import { decodeMessage, encodeMessage, itemOverheadBytes } from '../links/remote-call.js';
import type { IncomingCall, IncomingHandle } from '../links/server-session.js';
import type { Membership } from '../membership/membership.js';
import { hashBytes } from '../ring/hash.js';
import type { Deadlines } from '../time/deadlines.js';
import type { Time } from '../time/time.js';
import type { RingKeeper } from './ring-keeper.js';
import { targetOf, type Target } from './target.js';

export interface ReceiverParts {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly config: ClusterConfig;
  readonly time: Time;
  readonly deadlines: Deadlines;
  readonly membership: Membership;
  readonly rings: RingKeeper;
  readonly table: ActorTable;
  /** This node's description, for a peer that requests it. */
  describe(): Uint8Array;
  /** Begins to leave, for a peer that asks for it. Throws if this process cannot. */
  leave(): void;
}

const targetsMax = 10_000;
/** How long a receiver with an older view waits for the caller's view before it answers by its own. */
const catchUpMs = 1_000;

/** Handles the calls of other nodes: delivers to the actor if this node owns it, otherwise answers "moved". */
export class Receiver {
  readonly #parts: ReceiverParts;
  readonly #targets = new Map<Kind, Map<string, Map<string, Target>>>();
  #targetCount = 0;
  /** Calls that reached the wrong node. */
  movedGiven = 0;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  get addresses(): number {
    return this.#targetCount;
  }

  receive(incoming: IncomingCall): IncomingHandle {
    try {
      if (incoming.mode === 'describe') {
        incoming.answer.reply(this.#parts.describe(), noEpoch);
        return noHandle;
      }
      if (incoming.mode === 'leave') {
        this.#parts.leave();
        incoming.answer.reply(nothing, noEpoch);
        return noHandle;
      }
      const kind = this.#parts.kinds.get(incoming.kind);
      if (kind === undefined)
        throw new ClusterError('unknown_kind', `this node has no actor kind ${incoming.kind}`);
      const target = this.#target(kind, incoming.group, incoming.key);
      if (incoming.mode === 'release') return this.#release(target, incoming);
      const method = kind.methods.get(incoming.method);
      if (method === undefined) {
        throw new ClusterError('unknown_method', `${incoming.kind} has no method ${incoming.method}`);
      }
      return this.#call(target, method, incoming);
    } catch (error) {
      const known = toClusterError(error, 'bad_message');
      // The constructor adds the tag again.
      const message = known.message.replace(`${known.tag}: `, '');
      incoming.answer.fail(new ClusterError(known.tag, message, { cause: error, notBegun: true }));
      return noHandle;
    }
  }

  /**
   * Caches checked and hashed addresses, because most calls go to recently called actors. The lookup goes part by
   * part: joining the parts into one string costs more.
   */
  #target(kind: Kind, group: string, key: string): Target {
    const known = this.#targets.get(kind)?.get(group)?.get(key);
    if (known !== undefined) return known;
    const target = targetOf(kind, group, key);
    if (this.#targetCount >= targetsMax) {
      this.#targets.clear();
      this.#targetCount = 0;
    }
    const groups = this.#targets.get(kind) ?? new Map<string, Map<string, Target>>();
    this.#targets.set(kind, groups);
    const keys = groups.get(group) ?? new Map<string, Target>();
    groups.set(group, keys);
    keys.set(key, target);
    this.#targetCount += 1;
    return target;
  }

  #release(target: Target, incoming: IncomingCall): IncomingHandle {
    const { table } = this.#parts;
    const endWait = table.whenReleased(target.kind.name, target.text, () =>
      incoming.answer.reply(nothing, table.epochOf(target.kind.name, target.text)),
    );
    return { ...noHandle, cancel: endWait, detach: endWait };
  }

  #call(target: Target, method: Method, incoming: IncomingCall): IncomingHandle {
    const { config, time, deadlines } = this.#parts;
    const deadlineMs = Math.min(incoming.deadlineMs, config.callDeadlineMaxMs);
    const origin: CallOrigin = {
      method,
      group: incoming.callerGroup === '' ? incoming.group : incoming.callerGroup,
      requestId: requestId(incoming.requestId),
      repeatable: incoming.repeatable,
      deadlineAtMs: time.monotonicMs() + deadlineMs,
      traceparent: incoming.traceparent === '' ? undefined : incoming.traceparent,
      tracestate: incoming.tracestate === '' ? undefined : incoming.tracestate,
      chain: incoming.chain,
    };
    const input = decodeMessage(method.input, incoming.body);
    const size = { bytes: incoming.body.length, credit: incoming.credit };
    const call = new Call(target, origin, input, size, this.#sink(target, method, incoming), deadlines);
    const payload = incoming.repeatable ? hashBytes(incoming.body) : 0;
    if (incoming.mode === 'resident') this.#deliverResident(target, call);
    else this.#route(target, call, payload, incoming);
    return {
      cancel: () => call.cancel(),
      grant: (credit) => call.grant(credit),
      detach: () => {
        if (method.streams) call.fail(new ClusterError('peer_lost', 'the link to the caller was lost'));
      },
    };
  }

  #deliverResident(target: Target, call: Call): void {
    if (!this.#parts.table.deliverResident(target.kind.name, target.text, call)) {
      call.fail(new ClusterError('moved', 'the actor is not loaded on this node', { notBegun: true }));
    }
  }

  #route(target: Target, call: Call, payload: number, incoming: IncomingCall): void {
    const { rings, time, config } = this.#parts;
    if (incoming.view === undefined || incoming.view.number <= rings.view.number) {
      this.#deliver(target, call, payload);
      return;
    }
    if (rings.waiting >= config.nodeQueueMax) {
      const details = { notBegun: true, retryAfterMs: config.overloadRetryMs };
      call.fail(
        new ClusterError('overloaded', 'too many calls wait for the newer view (nodeQueueMax)', details),
      );
      return;
    }
    // This node's view is older than the caller's: wait for the newer view, which is on its way.
    const go = (): void => {
      timer.cancel();
      endWait();
      this.#deliver(target, call, payload);
    };
    const timer = time.after(catchUpMs, go);
    const endWait = rings.whenReached(incoming.view.number, go);
  }

  #deliver(target: Target, call: Call, payload: number): void {
    const { rings, membership, table } = this.#parts;
    if (call.ended) return;
    if (!rings.owns(target.slot)) {
      call.fail(
        new ClusterError('moved', `${target.kind.name} is owned by another node`, { notBegun: true }),
      );
    } else if (call.chain.length > 0 ? !membership.mayAct() : !membership.mayAdmit()) {
      call.fail(new ClusterError('not_serving', 'this node may not start new work', { notBegun: true }));
    } else {
      table.deliver(target.kind.name, target.text, target.slot, call, payload);
    }
  }

  #sink(target: Target, method: Method, incoming: IncomingCall): ReplySink {
    const { answer } = incoming;
    const { table, config } = this.#parts;
    const encode = (value: unknown): Uint8Array =>
      encodeMessage(method.output, value, config.messageBytesMax);
    return {
      reply: (value) => {
        try {
          answer.reply(encode(value), table.epochOf(target.kind.name, target.text));
        } catch (error) {
          answer.fail(toClusterError(error));
        }
      },
      opened: (newest) => answer.opened(newest),
      item: (value) => {
        const bytes = encode(value);
        answer.item(bytes);
        return bytes.length + itemOverheadBytes;
      },
      end: () => answer.end(),
      fail: (error) => {
        if (error.tag === 'moved') this.movedGiven += 1;
        answer.fail(error);
      },
    };
  }
}

const noEpoch = epoch(0);
const nothing = new Uint8Array(0);
const noHandle: IncomingHandle = { cancel() {}, grant() {}, detach() {} };
