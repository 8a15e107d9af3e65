import { join } from 'node:path';
import { createActors } from '../../infra/runtime/index.js';
import { createAudit } from '../../tenancy/audit/index.js';
import { budgetNotices } from './budget-notices.js';
import { createAgents } from '../../agents/index.js';
import { createCalls, vendorAccess } from '../../models/calls/index.js';
import { partReader } from '../../models/parts/index.js';
import { AnswerFit } from '../../models/response-format/index.js';
import { Attachments } from '../../conversations/attachments/index.js';
import { createConsumers } from '../../conversations/consumers/index.js';
import { createDatabases } from '../../automation/databases/index.js';
import { findPromised, forgetAccepted } from '../../automation/index.js';
import { createEgress, systemRecords } from '../../infra/egress/index.js';
import { Spans, TenantLabels } from '../../infra/diagnostics/index.js';
import { createExpressions } from '../../infra/expressions/index.js';
import {
  createIdentity,
  identityTopics,
  namesOfMembers,
  namesOfUsers,
} from '../../tenancy/identity/index.js';
import { cancelAllInvites, createInvites, hasPendingInvite } from '../../tenancy/invites/index.js';
import { createKeys, namesOfKeys, revokeAllKeys, revokeKeysOf, roleNow } from '../../tenancy/keys/index.js';
import { KeptRequests } from '../../http/idempotency/index.js';
import { createMail } from '../../infra/mail/index.js';
import { createMailDomains } from '../../tenancy/mail-domains/index.js';
import { outsideClientOf, outsideIssuerOf, vendorSettings } from './outside-services.js';
import { ClientWindows, createQuota, FailedCredentials, RefusalMeasures } from '../../tenancy/quota/index.js';
import { createResponses } from '../../models/responses/index.js';
import { createSandbox } from '../../infra/sandbox/index.js';
import { createKeyedHash, createSealer } from '../../infra/sealing/index.js';
import { createSessions, figuresOfConsumers } from '../../conversations/sessions/index.js';
import { createTurns } from '../../conversations/turns/index.js';
import { makeTriggers } from './triggers.js';
import { Ledger, ledgerRows, openAttempts, openCosts, openProcesses } from '../../models/usage/index.js';
import { TenantDeletion, TenantRemoval } from '../deletion/index.js';
import { RetentionSweep } from './retention-sweep.js';
import { voidClaims } from './void-claims.js';
import { windowExchange } from './window-exchange.js';
import { createVault } from '../../tenancy/vault/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { isMember, type NodeEnvironment } from './node-environment.js';
import { refusalOf, type Stores } from './stores.js';

/** The number of addresses with counted wrong credentials; beyond it, the least active are forgotten. */
const failingAddressesMax = 100_000;

export type Subjects = Awaited<ReturnType<typeof makeSubjects>>;

export async function makeSubjects(environment: NodeEnvironment, stores: Stores) {
  const { settings, atEnd, publicUrl } = environment;
  const { platform, shared } = stores;
  const { time, random, log } = platform;
  const access = vendorAccess(await vendorSettings(settings));
  const masterKey = settings.masterKey ?? new Uint8Array();
  const sealer = createSealer({ masterKey, formerMasterKeys: settings.previousMasterKeys, random });
  const vault = createVault(platform, {
    masterKey,
    previousMasterKeys: settings.previousMasterKeys,
    providers: () => access.providers,
  });
  await vault.prepare();
  const actors = createActors({
    settings,
    process: environment.process,
    store: platform.store,
    sealer,
    logger: environment.log.logger,
    cluster: environment.cluster,
    onLost: environment.lose,
    onLeaveAsked: environment.onLeaveAsked,
  });

  const mail = createMail(platform, {
    sealer,
    smtpUrl: settings.smtpUrl,
    outboxFolder: join(environment.dataDir, 'outbox'),
    publicUrl,
    mayAct: () => actors.mayAct(),
  });
  atEnd(() => mail.close());
  const identity = await createIdentity(platform, {
    sealer,
    outsideIssuer: outsideIssuerOf(settings),
    outsideClient: outsideClientOf(settings),
    newTenantsPerAddress: settings.newTenantsPerAddress,
    endAccess: { revokeKeys: revokeAllKeys, revokeKeysOf, cancelInvites: cancelAllInvites },
    roleNow,
    mail,
    publicUrl,
    registration: { policy: settings.registration, hasInvite: hasPendingInvite },
    verifyEmail: settings.verifyEmail,
    isKnownModel: (model) => model === 'auto' || 'model' in access.catalogue.resolve(model),
  });
  atEnd(() => identity.close());
  const requireVerified = (scope: TenantScope, work: string): Promise<void> =>
    identity.verifiedOwners.require(scope, work);
  const invites = createInvites(platform, {
    accounts: identity.accounts,
    mail,
    publicUrl,
    requireVerified,
    countMail: (tx, email) => identity.invitationMails.count(tx, email),
  });

  const spans = Spans.ifRecorded();
  const tenants = new TenantLabels({ time, max: settings.metricsTenants });
  const refusals = new RefusalMeasures(tenants);
  const exchange = await windowExchange(environment, stores, sealer, refusals);
  atEnd(() => exchange?.stop());
  const quota = createQuota(platform, {
    exchange,
    openAttempts: (scope) => openAttempts(platform.store, scope),
    budgets: {
      openCosts: (scope) => openCosts(platform.store, scope),
      tell: budgetNotices({ mail, publicUrl, verifiedOnly: settings.verifyEmail }),
    },
    dailyLimits: settings.dailyLimits,
    actors,
    measures: refusals,
  });
  atEnd(() => quota.stop());
  const failures = new FailedCredentials(time, failingAddressesMax, exchange);
  const keys = createKeys(platform, { failures });
  atEnd(() => keys.stop());

  const audit = createAudit(platform, {
    users: (ids) => platform.store.directory((tx) => namesOfUsers(tx, ids)),
    members: (scope, ids) => platform.store.inTenant(scope, (tx) => namesOfMembers(tx, ids)),
    keys: (scope, ids) => platform.store.inTenant(scope, (tx) => namesOfKeys(tx, ids)),
  });

  const requests = new KeptRequests({
    store: platform.store,
    sealer,
    time,
    ids: platform.ids,
    report: log.report,
  });

  const processes = await openProcesses(platform, {
    dataDir: environment.dataDir,
    process: environment.process,
    peers: isMember(settings) ? actors : undefined,
  });
  atEnd(() => processes.leave());
  const ledger = new Ledger(
    { ...platform, rows: ledgerRows(platform.store) },
    { isGone: (id) => processes.isGone(id) },
  );
  atEnd(() => ledger.stop());
  const egress = createEgress({ allow: settings.egressAllow ?? [] });
  atEnd(() => egress.close());
  const sandbox = createSandbox({
    time,
    report: log.report,
    processes: settings.sandboxProcesses,
    cpuMsPerMinute: settings.sandboxCpuSeconds * 1_000,
  });
  atEnd(() => sandbox.close());
  const readParts = partReader(egress);
  const checkUrl = (url: string, field: string): URL => egress.checkUrl(url, field);
  const fit = new AnswerFit(sandbox);
  const calls = createCalls(platform, {
    mayUsePlatformKeys: (scope) => identity.verifiedOwners.has(scope),
    keyRules: (scope, keyId) => keys.rulesOf(scope, keyId),
    access,
    vault,
    quota,
    ledger,
    shared: shared && { values: shared, turnMsMax: environment.limits.answerTurnMsMax },
    processId: processes.processId,
    readParts,
    checkUrl,
    fit,
    tenants,
    spans,
  });
  atEnd(() => calls.close());

  const responses = createResponses(platform, {
    calls: calls.models,
    sealer,
    checkUrl,
  });

  const databases = createDatabases(platform, { vault, egress });
  atEnd(() => databases.close());
  const expressions = createExpressions(sandbox);
  const agents = createAgents(platform, { vault, egress, sandbox, expressions, models: calls.preflight });
  atEnd(() => agents.stop());
  const turns = createTurns(platform, {
    models: calls.models,
    catalogue: access.catalogue,
    tools: agents.tools,
    runnableAgent: (scope, id, role) => agents.runnableAgent(scope, id, role),
    agentVersion: (scope, id, version) => agents.agentVersion(scope, id, version),
    contextStrict: settings.contextStrict,
    fit,
    spans,
    refusalOf,
  });
  const consumers = createConsumers(platform, {
    figuresOf: figuresOfConsumers,
    hash: createKeyedHash(masterKey, settings.previousMasterKeys),
  });
  atEnd(() => consumers.stop());
  const attachments = new Attachments({
    store: platform.store,
    sealer,
    readParts,
    time,
    newId: () => platform.ids.uuid(),
    report: log.report,
  });
  const sessions = createSessions(platform, {
    attachments,
    fit,
    actors,
    agents,
    models: calls.models,
    turns,
    sealer,
    tenantAtWork: identity.tenantAtWork,
    tenants,
    onFailedTurn: (failed) => stores.errorRecords.noteTurn(failed),
    isDenied: consumers.isDenied,
    factsOf: consumers.factsOf,
    nameOf: consumers.nameOf,
    isKnownConsumer: consumers.isKnown,
    erasePerson: consumers.erasePerson,
    findPromised,
    forgetAccepted: forgetAccepted({
      store: platform.store,
      sealer,
      time: platform.time,
      report: log.report,
    }),
  });
  const unsubscribe = platform.changes.subscribe(identityTopics.suspendedTenant, {
    onChange: ({ subject }) => sessions.cancelTurnsOfSuspended(subject),
    onDropEverything: () => sessions.cancelTurnsOfSuspended(),
  });
  atEnd(unsubscribe);
  const lookUp = environment.lookUp ?? systemRecords();
  const mailDomains = createMailDomains(platform, {
    lookUp,
    operatorDomain: settings.mailDomain,
    requireVerified,
  });
  const triggers = await makeTriggers(environment, platform, {
    vault,
    sealer,
    egress,
    sandbox,
    expressions,
    quota,
    failures,
    windows: (kind) => new ClientWindows(kind, { time, windowsMax: failingAddressesMax, exchange }),
    keys,
    agents,
    databases,
    mail,
    mailDomains: mailDomains.domains,
    requireVerified,
    lookUp,
    sessions,
    attachments,
    consumers,
    mayAct: () => actors.mayAct(),
  });
  // Once the lease is given back, other nodes send what this one has claimed.
  actors.beforeLeave(() => triggers.leave());
  const retention = new RetentionSweep({
    store: platform.store,
    tenants: identity.tenants,
    sessions: sessions.sessions,
    time,
    report: log.report,
  });
  atEnd(() => retention.stop());
  const deletion = new TenantDeletion({
    store: platform.store,
    changes: platform.changes,
    nowMs: () => time.wallMs(),
  });
  const removal = new TenantRemoval({ store: platform.store, time, report: log.report });
  atEnd(() => removal.stop());
  const claims = voidClaims(stores.platform, environment.processName, { actors, processes, triggers, mail });
  for (const one of claims) atEnd(() => one.stop());
  return {
    actors,
    audit,
    requests,
    claims,
    vault,
    identity,
    mail,
    mailDomains,
    invites,
    quota,
    failures,
    keys,
    ledger,
    calls,
    responses,
    agents,
    consumers,
    databases,
    sessions,
    attachments,
    triggers,
    retention,
    refusals,
    deletion,
    removal,
  };
}
