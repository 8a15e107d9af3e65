// The interface of triggers: what starts agents from outside, how messages are accepted, and how answers are sent.
import type { AgentsSubject } from '../agents/index.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { Databases } from './databases/index.js';
import type { Egress, LookUpRecords } from '../infra/egress/index.js';
import type { ClaimedWork } from '../infra/claims/index.js';
import type { Expressions } from '../infra/expressions/index.js';
import type { MailDomains } from '../tenancy/mail-domains/index.js';
import type { Operation } from '../http/operations/index.js';
import type { ClientWindows, FailedCredentials, Quota } from '../tenancy/quota/index.js';
import type { Sandbox } from '../infra/sandbox/index.js';
import type { Sealer } from '../infra/sealing/index.js';
import type { Platform } from '../infra/platform/index.js';
import type { Vault } from '../tenancy/vault/index.js';
import { plainTextsBy } from './outbox/replies/plain-texts.js';
import type { ChannelAddresses } from './triggers/config/webhook-config.js';
import type { Mail } from '../infra/mail/index.js';
import { deliveryRows } from './outbox/delivery-rows.js';
import { Outbox } from './outbox/outbox.js';
import { Sender } from './outbox/sender.js';
import { memberFinder } from './messages/members.store.js';
import { SenderBlocks } from './messages/sender-blocks.js';
import { historyOperations } from './management/history-operations.js';
import { History } from './management/history.js';
import { acceptTarget } from './inbox/accept-target.js';
import { Buffers } from './inbox/buffers.js';
import { flushKeepMs, flushLimits, flushTarget } from './inbox/flush-target.js';
import { Flushes } from './inbox/flushes.js';
import { holdMs, InboxRunner } from './inbox/inbox-runner.js';
import { messageRows } from './inbox/message-rows.js';
import { MessageSealer } from './messages/message-payload.js';
import { WebhookAuthentication, type WebhookAuthenticationParts } from './intake/authentication.js';
import { ownKeys } from './intake/message-key.js';
import { RepeatedMessages } from './intake/repeated-messages.js';
import { createIntake } from './intake/create-intake.js';
import { UncountedRequests } from './intake/uncounted-requests.js';
import { webhookChecks } from './intake/pipeline/webhook-checks.js';
import { LiveTriggers } from './triggers/live-triggers.js';
import { triggerOperations } from './management/operations.js';
import type { ConsumerPort, TurnPort } from './triggers/ports.js';
import { MailReader } from './mail-reading/mail-reader.js';
import { MailAddresses } from './messages/mail-addresses.js';
import { MailIntake } from './mail/mail-intake.js';
import { mailTarget } from './mail/mail-target.js';
import { Mailboxes } from './mail/mailboxes.js';
import { SmtpListener, type SmtpListenerParts } from './mail/smtp-listener.js';
import { manualOperations } from './management/manual-message-operations.js';
import { ManualRuns } from './management/manual-runs.js';
import { ManualMessages, type ManualMessagesParts } from './management/manual-messages.js';
import { findSecretReferences } from './triggers/secret-references.js';
import { DatabaseEvents } from './sources/database-events.js';
import { failureReport } from './messages/failure-report.js';
import { TriggerMeasures } from './messages/measures.js';
import { waitingDeliveries } from './outbox/deliveries.store.js';
import { waitingMessages } from './inbox/inbox.store.js';
import { Retention } from './inbox/retention.js';
import { SourcePoller } from './sources/source-poller.js';
import { Sources } from './sources/sources.js';
import { Schedules } from './sources/schedules.js';
import { TriggerDryRun } from './management/dry-run.js';
import { Triggers } from './management/triggers.js';
import { webhookOperations } from './management/webhook-operations.js';

export { forgetAccepted } from './inbox/erasure.js';
export { findPromised } from './inbox/promised.store.js';
export { inboxRemovals } from './inbox/removal.store.js';
export { mailRemovals } from './messages/removal.store.js';
export { outboxRemovals } from './outbox/removal.store.js';
export { describedTypes } from './triggers/config/trigger-config.js';
export { type ChannelAddresses, channelTypes, responseFormats } from './triggers/config/webhook-config.js';
export { triggerTypes, type TriggerType } from './triggers/types/registry.js';
export { resealTriggers } from './management/reseal.js';
export { SessionTurns } from './inbox/session-turns.js';
export type { ConsumerPort, TurnOrder, TurnOutcome, TurnPort } from './triggers/ports.js';

export interface TriggersOptions {
  readonly vault: Pick<
    Vault,
    'keep' | 'resolve' | 'resolveAll' | 'putNamed' | 'putOwned' | 'deleteOwned' | 'addReferenceFinder'
  >;
  readonly sealer: Sealer;
  readonly egress: Egress;
  /** For destinations that the operator configured, which may be private. */
  readonly operatorEgress: Egress;
  readonly sandbox: Pick<Sandbox, 'run'>;
  readonly expressions: Expressions;
  readonly quota: Pick<Quota, 'admitTenantWork' | 'admission' | 'monthlyRefusal'>;
  readonly authenticateKey: WebhookAuthenticationParts['authenticateKey'];
  /** Counts requests with an unknown webhook or a wrong signature, by address. */
  readonly failures: Pick<FailedCredentials, 'note'>;
  /** Windows that all nodes count together, under a name of their own. */
  readonly windows: (kind: string) => ClientWindows;
  readonly agents: Pick<AgentsSubject, 'publishedAgent' | 'runnableAgent'>;
  /** Closed when triggers stop: nothing else reads by then. */
  readonly databases: Pick<Databases, 'connect' | 'close'>;
  readonly mail: Pick<Mail, 'send'>;
  /** Where this node receives mail for triggers; undefined if it does not. */
  readonly smtpIn: Pick<SmtpListenerParts, 'host' | 'port' | 'tls'> | undefined;
  /** The domain of triggers' own addresses. */
  readonly mailDomain: string | undefined;
  /** Replaces it if mails leave the machine. */
  readonly fallbackMailDomain: () => string | undefined;
  /** Whether mails must prove their sender. */
  readonly checksSenders: boolean;
  readonly mailDomains: Pick<MailDomains, 'tenantOf'>;
  /** Throws `email_unverified` if the tenant may not send mail in the platform's name. */
  readonly requireVerified: (scope: TenantScope, work: string) => Promise<void>;
  readonly lookUp: LookUpRecords;
  readonly turns: TurnPort;
  readonly sessions: ManualMessagesParts['sessions'];
  readonly consumers: ConsumerPort;
  readonly channels: ChannelAddresses;
  /** Whether this process may start an outside effect right now. */
  readonly mayAct: () => boolean;
  /** Only for tenants named by triggers' rows. */
  readonly scopeOf: (tenantId: string) => TenantScope;
  /** The topic of changes to a tenant's plan; the subject is the tenant. */
  readonly tenantTopic: string;
  /** Topics of changes after which a tenant's denylist or sessions may block answers. */
  readonly blockTopics: readonly string[];
  readonly publicUrl: () => string;
}

export interface TriggersSubject {
  readonly operations: readonly Operation[];
  /** The metrics of triggers on this node, in Prometheus format. */
  measures(): Promise<string>;
  /** Resolves when no answer of the session is being sent any more. Call it once people have taken the session over. */
  quiet(scope: TenantScope, sessionId: string): Promise<void>;
  /**
   * The rows that processes claim. The end of `fenced` work is refused to a process that has left the view; `effects` need
   * one that has surely stopped.
   */
  readonly claims: { readonly fenced: readonly ClaimedWork[]; readonly effects: readonly ClaimedWork[] };
  /** This node begins to leave: other nodes poll and receive mail, and run the messages that it holds. */
  handOver(): Promise<void>;
  /** Before the node leaves its cluster: ends attempts to send answers and gives messages to the other nodes. */
  leave(): Promise<void>;
  /** Claims abandoned work. Resolves once mail can be received, if this node receives any. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createTriggers(platform: Platform, options: TriggersOptions): TriggersSubject {
  const measures = new TriggerMeasures();
  const plainTexts = plainTextsBy(options.sandbox);
  const report = failureReport({ time: platform.time, report: platform.log.report, measures });
  const dependencies = { ...platform, ...options, feed: platform.changes, measures, plainTexts, report };
  const { store, reads, ids, vault, agents, quota, expressions, consumers, publicUrl, time } = dependencies;
  vault.addReferenceFinder(findSecretReferences);
  const seal = new MessageSealer(dependencies.sealer);
  const live = new LiveTriggers(dependencies);
  const addresses = new MailAddresses({
    domain: dependencies.mailDomain,
    fallbackDomain: dependencies.fallbackMailDomain,
    domains: dependencies.mailDomains,
    requireVerified: dependencies.requireVerified,
  });
  const reader = new MailReader(dependencies);
  const senderBlocks = new SenderBlocks(consumers, reads, time, (scope) => memberFinder(store, scope));
  const sender = new Sender({
    ...dependencies,
    rows: deliveryRows(store),
    live,
    seal,
    senderBlocks,
    addresses,
  });
  const runner = new InboxRunner({
    ...dependencies,
    rows: messageRows(store),
    live,
    senderBlocks,
    sender,
    seal,
  });
  const flushing = dependencies.writers.writer(flushTarget({ holdMs, keepMs: flushKeepMs }), flushLimits);
  const flushes = new Flushes({ live, seal, senderBlocks, writer: flushing, ids });
  const buffers = new Buffers({ ...dependencies, flushes, runner });
  const outbox = new Outbox({ store, live, seal, plainTexts, sender, time });
  measures.addBacklog({
    time,
    inbox: () => store.directory((tx) => waitingMessages(tx)),
    deliveries: () => store.directory((tx) => waitingDeliveries(tx)),
    report: platform.log.report,
  });
  const schedules = new Schedules({ store, live, seal, measures, ids });
  const events = new DatabaseEvents({
    ...dependencies,
    live,
    seal,
    wake: (scope, id) => poller.poll(scope, id, events.type, true),
    isFull: () => runner.isFull,
  });
  const mailIntake = new MailIntake({
    store,
    reads,
    senderBlocks,
    addresses,
    quota,
    inbox: dependencies.writers.writer(mailTarget),
    runner,
    seal,
    measures,
    ids,
    refusedMails: dependencies.windows('refused-mails'),
  });
  const mailboxes = new Mailboxes({
    ...dependencies,
    live,
    intake: mailIntake,
    addresses,
    reader,
    wake: (scope, id) => poller.poll(scope, id, mailboxes.type, true),
  });
  const sources = new Sources([schedules, events, mailboxes]).requireAll();
  const poller = new SourcePoller({ ...dependencies, runner, sources });
  const nowMs = (): number => time.wallMs();
  const triggers = new Triggers({
    ...dependencies,
    nowMs,
    sources,
    armed: (scope, { id, trigger_type: type }) => poller.changed(scope, id, type),
  });
  const authentication = new WebhookAuthentication({
    vault,
    time,
    authenticateKey: dependencies.authenticateKey,
    // Its request alone: asked of another node for its model work too, that would be counted here and by the message.
    admitKey: (caller) => quota.admission.admitRequest(caller, 'request'),
  });
  const { smtpIn } = dependencies;
  const listener =
    smtpIn &&
    new SmtpListener({
      ...smtpIn,
      live,
      reads,
      intake: mailIntake,
      addresses,
      reader,
      checksSenders: dependencies.checksSenders,
      time,
      report: dependencies.report,
    });
  let closed: Promise<void> | undefined;
  const closeListener = async (): Promise<void> => {
    closed ??= listener?.stop();
    await closed;
  };
  const repeats = new RepeatedMessages(store, reads, time);
  const uncounted = new UncountedRequests(dependencies.windows('uncounted'));
  const checks = webhookChecks({ ...dependencies, live, authentication, uncounted, repeats, senderBlocks });
  const intake = createIntake({
    checks,
    uncounted,
    rows: {
      inbox: dependencies.writers.writer(acceptTarget),
      reads,
      seal,
      ownKey: ownKeys(time, dependencies.random.id()),
    },
    handling: {
      store,
      quota,
      expressions,
      plainTexts,
      senderBlocks,
      repeats,
      runner,
      buffers,
      turns: dependencies.turns,
      measures,
      time,
    },
  });
  const retention = new Retention(dependencies);
  const dryRuns = new TriggerDryRun({ triggers, live, agents, expressions, checks });
  const manualRuns = new ManualRuns({ ids, triggers, live, agents, expressions, plainTexts, runner });
  return {
    operations: [
      ...triggerOperations({ triggers, dryRuns, manualRuns, publicUrl, time }),
      ...webhookOperations({ intake, live, authentication, publicUrl, failures: dependencies.failures }),
      ...historyOperations({ history: new History(store, seal), outbox }),
      ...manualOperations(new ManualMessages({ store, outbox, ids, sessions: dependencies.sessions })),
    ],
    measures: () => measures.text(),
    quiet: (scope, sessionId) => sender.quiet(scope, sessionId),
    async leave() {
      await sender.stop();
      await runner.leave();
    },
    claims: { fenced: [runner.claims, poller.claims], effects: [sender.claims] },
    async handOver() {
      // Other nodes poll and receive from now on. The node's last requests do not wait for what still runs here; `stop`
      // waits for it, and tells of a failure.
      void Promise.allSettled([closeListener(), poller.leave()]);
      await runner.leave();
    },
    async start() {
      await listener?.start();
      runner.start();
      buffers.start();
      sender.start();
      poller.start();
      retention.start();
    },
    async stop() {
      measures.stop();
      await closeListener();
      await poller.stop(async () => {
        reader.close();
        await Promise.all([sources.stop(), dependencies.databases.close()]);
      });
      retention.stop();
      buffers.stop();
      runner.stop();
      await sender.stop();
      live.stop();
    },
  };
}
