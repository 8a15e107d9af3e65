// The platform's own inbox and outbox in one simulated process.
import { processId } from '../../../cluster/ids/ids.js';
import type { Reference, Time } from '../../../cluster/index.js';
import type { ClusterNode } from '../../../cluster/node/node.js';
import type { Transit } from '../../../cluster/simulation/member-store.js';
import type { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import { voidClaims } from '../../../src/app/node/void-claims.js';
import { refusalOf } from '../../../src/app/node/stores.js';
import { acceptTarget } from '../../../src/automation/inbox/accept-target.js';
import { InboxRunner } from '../../../src/automation/inbox/inbox-runner.js';
import { SessionTurns } from '../../../src/automation/inbox/session-turns.js';
import { BlockedMessages } from '../../../src/automation/intake/blocked-messages.js';
import { InboxRows } from '../../../src/automation/intake/inbox-rows.js';
import type { CheckedMessage } from '../../../src/automation/intake/incoming-request.js';
import { MessageAcceptance } from '../../../src/automation/intake/message-acceptance.js';
import { headerKeepMs } from '../../../src/automation/intake/message-key.js';
import { answerOf, RepeatedMessages } from '../../../src/automation/intake/repeated-messages.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { SenderBlocks } from '../../../src/automation/messages/sender-blocks.js';
import { Sender } from '../../../src/automation/outbox/sender.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import type { LiveTrigger } from '../../../src/automation/triggers/live-triggers.js';
import type { SessionService } from '../../../src/conversations/sessions/parts.js';
import { Sessions } from '../../../src/conversations/sessions/sessions.js';
import type { ChangeSubscriber } from '../../../src/infra/storage/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { processName } from '../../../src/models/usage/index.js';
import { simulatedAgent } from './agent.js';
import type { MessageTables } from './message-tables.js';
import type { SimulatedReceiver } from './receiver.js';
import type { twinWriters } from './twin-writers.js';

export interface Webhook {
  readonly key: string;
  readonly tenantId: string;
  readonly sessionId: string;
  readonly text: string;
}

export interface MessageNodeParts {
  /** The name of the process in its cluster. */
  readonly name: string;
  readonly tables: MessageTables;
  readonly receiver: SimulatedReceiver;
  readonly transit: Transit;
  readonly writers: Pick<ReturnType<typeof twinWriters>, 'writer'>;
  readonly session: (tenantId: string, sessionId: string) => Reference<SessionService>;
  readonly time: Time;
  readonly random: SeededRandom;
  readonly report: (attempted: string, error: unknown) => void;
  /** A planted bug: nothing looks whether the process may still send. */
  readonly ignoresLook: boolean;
  /** A planted bug: the claims of processes that are gone stay. */
  readonly keepsClaims: boolean;
}

const parsed = parseTriggerConfig('webhook', {
  auth: { type: 'none' },
  execution: {
    mode: 'async',
    // As long as the other turns of the load.
    timeout_ms: 20_000,
    callback: { url: 'https://receiver.example/', send_failures: true },
  },
});
if (parsed.type !== 'webhook') throw new Error('a webhook was asked for');
const { config } = parsed;
const limits = limitsOf('enterprise', {});
const plain = {
  seal: (value: Uint8Array) => Buffer.from(value),
  open: (sealed: Uint8Array) => Buffer.from(sealed),
  isStale: () => false,
  mark: Buffer.alloc(0),
};
const unasked = (what: string) => () => Promise.reject(new Error(`${what} was asked in a simulation`));
const noStore = { inTenant: unasked('a transaction'), directory: unasked('the directory') };

export class MessageNode {
  readonly #parts: MessageNodeParts;
  readonly #runner: InboxRunner;
  readonly #sender: Sender;
  readonly #acceptance: MessageAcceptance;
  readonly #repeats: RepeatedMessages;
  readonly #subscribers = new Set<ChangeSubscriber>();
  #node: ClusterNode | undefined;
  #claims: readonly { start(): void; stop(): void }[] = [];

  constructor(parts: MessageNodeParts) {
    this.#parts = parts;
    const { name, tables, receiver, transit, writers, time, random, report, ignoresLook } = parts;
    const process = nameOfClaims(name);
    const ids = { uuid: () => uuidOf(random) };
    const reads = tables.reads(transit);
    const seal = new MessageSealer(plain);
    const live = { get: async (id: string) => triggerOf(id) };
    const senderBlocks = new SenderBlocks(
      { isDenied: () => false },
      reads,
      time,
      () => async () => undefined,
    );
    const plainTexts = (_: unknown, text: string): string => text;
    const egress = receiver.egress(name, time, ignoresLook);
    const store = { ...noStore, close: async () => undefined };
    this.#sender = new Sender({
      rows: tables.deliveryRows(transit),
      writers,
      ids,
      live,
      seal,
      senderBlocks,
      feed: {
        subscribe: (_, subscriber) => {
          this.#subscribers.add(subscriber);
          return () => this.#subscribers.delete(subscriber);
        },
      },
      blockTopics: ['sessions'],
      vault: { resolve: unasked('the vault') },
      channels: { twilio: '', whatsapp_cloud: '', slack: '' },
      egress,
      operatorEgress: egress,
      mail: { send: unasked('the mail server') },
      addresses: { sendingAs: unasked('an address'), requireSender: unasked('an address') },
      measures: { attempted: () => undefined },
      time,
      mayAct: () => ignoresLook || (this.#node?.mayAct() ?? false),
      random,
      scopeOf: tenantScope,
      report,
    });
    const sessions = new Sessions({
      store,
      reads,
      session: parts.session,
      time,
      newId: ids.uuid,
      refusalOf,
    });
    const turns = new SessionTurns({
      sessions,
      admission: {
        admitUnasked: () => Promise.resolve(simulatedAgent),
        tokenRefusal: () => Promise.resolve(undefined),
        contentRefusal: () => Promise.resolve(undefined),
      },
      attachments: {
        read: unasked('an attachment'),
        keep: unasked('an attachment'),
        drop: unasked('an attachment'),
      },
      quota: { admitTenantWork: unasked('the window of requests') },
      time,
      newId: ids.uuid,
    });
    this.#runner = new InboxRunner({
      ids,
      rows: tables.messageRows(process, transit),
      live,
      senderBlocks,
      turns,
      sender: this.#sender,
      plainTexts,
      seal,
      time,
      scopeOf: tenantScope,
      report,
    });
    let messages = 0;
    const rows = new InboxRows({
      inbox: writers.writer(acceptTarget),
      reads,
      seal,
      runner: this.#runner,
      ownKey: () => `message:${name}-${(messages += 1)}`,
    });
    const measures = { accepted: () => undefined, buffered: () => undefined, refused: () => undefined };
    this.#repeats = new RepeatedMessages(store, reads, time);
    const handling = {
      store,
      rows,
      runner: this.#runner,
      measures,
      time,
      senderBlocks,
      plainTexts,
      turns,
      repeats: this.#repeats,
      quota: { admitTenantWork: unasked('the window of requests') },
      uncounted: { noteRefused: () => undefined },
      expressions: { evaluate: unasked('an expression') },
      buffers: { touched: () => undefined, flush: () => undefined, flushOpen: () => undefined },
    };
    this.#acceptance = new MessageAcceptance({ ...handling, blocked: new BlockedMessages(handling) });
  }

  start(node: ClusterNode): void {
    this.#node = node;
    const { name, tables, transit, time, report, keepsClaims } = this.#parts;
    const { inbox, outbox } = tables.claims(transit);
    const none = { table: { holders: async () => [], release: async () => 0 }, sweepNow: () => undefined };
    this.#claims = keepsClaims
      ? []
      : voidClaims(
          {
            store: {
              ...noStore,
              directory: (work) => work(undefined as never),
              close: async () => undefined,
            },
            time,
            log: { report, note: () => undefined },
          },
          nameOfClaims(name),
          {
            actors: { members: () => node.ring.view.members.map(({ process }) => process) },
            processes: {
              isSurelyGone: (other) => node.surelyGone(processId(other.slice(nameOfClaims('').length))),
            },
            triggers: {
              claims: {
                fenced: [{ table: inbox, sweepNow: this.#runner.claims.sweepNow }],
                effects: [{ table: outbox, sweepNow: this.#sender.claims.sweepNow }],
              },
            },
            mail: { claims: none },
          },
        );
    for (const claims of this.#claims) claims.start();
    this.#runner.start();
    this.#sender.start();
  }

  /** Answers a webhook as the intake does once its checks have passed. */
  async accept(webhook: Webhook): Promise<void> {
    const message = this.#messageOf(webhook);
    const first = await this.#repeats.answer(message, message.key);
    if (first === undefined) await this.#acceptance.accept(message);
    else answerOf(first);
  }

  /** Resolves when no answer of the session is being sent. */
  quiet(tenantId: string, sessionId: string): Promise<void> {
    return this.#sender.quiet(tenantScope(tenantId), sessionId);
  }

  /** A session of the tenant has changed. */
  changed(tenantId: string): void {
    for (const { onChange } of this.#subscribers)
      onChange({ number: 0, topic: 'sessions', tenantId, subject: tenantId });
  }

  async leave(): Promise<void> {
    for (const claims of this.#claims) claims.stop();
    await this.#runner.leave().catch((error: unknown) => this.#parts.report('leaving', error));
    await this.#sender.stop();
  }

  #messageOf({ key, tenantId, sessionId, text }: Webhook): CheckedMessage & {
    readonly key: { readonly key: string; readonly keepMs: number; readonly strict: boolean };
  } {
    const triggerId = triggerIdOf(tenantId);
    return {
      triggerId,
      request: { requestId: key } as CheckedMessage['request'],
      trigger: triggerOf(triggerId),
      config,
      sentWith: undefined,
      window: { figures: undefined },
      payload: {},
      message: undefined,
      key: { key: `key:${key}`, keepMs: headerKeepMs, strict: true },
      hash: key,
      sources: { context: {} } as CheckedMessage['sources'],
      consumerKey: undefined,
      derivedSession: sessionId,
      sessionId,
      executionId: uuidOf(this.#parts.random),
      sender: { allowed: true, userId: undefined },
      query: text,
      given: [],
    };
  }
}

/** One trigger for each tenant. */
function triggerIdOf(tenantId: string): string {
  return tenantId.replace(/^0{8}/, '0000000f');
}

function triggerOf(id: string): LiveTrigger {
  return {
    id,
    scope: tenantScope(id.replace(/^0000000f/, '00000000')),
    limits,
    agentId: simulatedAgent.id,
    enabled: true,
    suspended: false,
    revision: 1,
    parsed,
    secrets: [],
    formerSecretUntilMs: 0,
  };
}

/** The name of a process on the rows that it claims. */
export function nameOfClaims(name: string): string {
  return processName(name, true);
}

function uuidOf(random: SeededRandom): string {
  const id = random.id();
  return [id.slice(0, 8), id.slice(8, 12), `4${id.slice(13, 16)}`, `8${id.slice(17, 20)}`, id.slice(20)].join(
    '-',
  );
}
