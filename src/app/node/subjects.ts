import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemRandom } from '../../../cluster/index.js';
import { createActors } from '../../infra/runtime/index.js';
import { createAgents } from '../../agents/index.js';
import { createCalls, vendorAccess } from '../../models/calls/index.js';
import { createConsumers } from '../../conversations/consumers/index.js';
import { createDatabases } from '../../automation/databases/index.js';
import { findPromised } from '../../automation/index.js';
import { createEgress, systemRecords } from '../../infra/egress/index.js';
import { createExpressions } from '../../infra/expressions/index.js';
import { createIdentity } from '../../tenancy/identity/index.js';
import { cancelAllInvites, createInvites } from '../../tenancy/invites/index.js';
import { createKeys, revokeAllKeys } from '../../tenancy/keys/index.js';
import { createMail } from '../../infra/mail/index.js';
import { createMailDomains } from '../../tenancy/mail-domains/index.js';
import { outsideIssuerOf, vendorSettings } from './outside-services.js';
import { createQuota, FailedCredentials } from '../../tenancy/quota/index.js';
import { createSandbox } from '../../infra/sandbox/index.js';
import { createSealer } from '../../infra/sealing/index.js';
import { createSessions, figuresOfConsumers } from '../../conversations/sessions/index.js';
import { createTurns } from '../../conversations/turns/index.js';
import { makeTriggers } from './triggers.js';
import { Ledger, openAttempts, openProcesses } from '../../models/usage/index.js';
import { createVault } from '../../tenancy/vault/index.js';
import type { NodeEnvironment } from './node-environment.js';
import { refusalOf, type Stores } from './stores.js';

/** The number of addresses with counted wrong credentials; beyond it, the least active are forgotten. */
const failingAddressesMax = 100_000;

export type Subjects = Awaited<ReturnType<typeof makeSubjects>>;

export async function makeSubjects(environment: NodeEnvironment, stores: Stores) {
  const { settings, time, report, atEnd, publicUrl } = environment;
  const { store, reads, writers, feed, shared } = stores;
  const access = vendorAccess(await vendorSettings(settings));
  const masterKey = settings.masterKey ?? new Uint8Array();
  const sealer = createSealer({ masterKey, formerMasterKeys: settings.previousMasterKeys, randomBytes });
  const vault = createVault({
    store,
    masterKey,
    previousMasterKeys: settings.previousMasterKeys,
    providers: () => access.providers,
    feed,
  });
  await vault.prepare();
  const actors = createActors({
    settings,
    nodeId: environment.nodeId,
    store,
    sealer,
    logger: environment.log.logger,
    cluster: environment.cluster,
    onLost: environment.lose,
  });

  const random = { uuid: randomUUID, bytes: randomBytes };
  const identity = await createIdentity({
    store,
    changes: feed,
    sealer,
    time,
    random,
    outsideIssuer: outsideIssuerOf(settings),
    newTenantsPerAddress: settings.newTenantsPerAddress,
    endAccess: { revokeKeys: revokeAllKeys, cancelInvites: cancelAllInvites },
    onProblem: (error) => report('maintaining identities', error),
  });
  atEnd(() => identity.close());
  const mail = createMail({
    store,
    sealer,
    time,
    random: systemRandom,
    newId: randomUUID,
    smtpUrl: settings.smtpUrl,
    outboxFolder: join(environment.dataDir, 'outbox'),
    publicUrl,
    onProblem: (error) => report('sending mails', error),
  });
  atEnd(() => mail.close());
  const invites = createInvites({ store, accounts: identity.accounts, mail, time, random, publicUrl });

  const quota = createQuota({
    store,
    openAttempts: (scope) => openAttempts(store, scope),
    time,
    dailyLimits: settings.dailyLimits,
    actors,
    report,
  });
  atEnd(() => quota.stop());
  const failures = new FailedCredentials(time, failingAddressesMax);
  const keys = createKeys({ store, reads, feed, time, random: systemRandom, report, failures });
  atEnd(() => keys.stop());

  const isMember = settings.redisUrl !== undefined && settings.nodeRoles.includes('worker');
  const processes = await openProcesses({
    dataDir: environment.dataDir,
    newId: randomUUID,
    time,
    peers: isMember ? actors : undefined,
  });
  atEnd(() => processes.leave());
  const ledger = new Ledger({ writers, store, time, report, isGone: (id) => processes.isGone(id) });
  atEnd(() => ledger.stop());
  const calls = createCalls({
    access,
    reads,
    feed,
    vault,
    quota,
    ledger,
    shared,
    time,
    random: systemRandom,
    newId: randomUUID,
    processId: processes.processId,
    report,
  });
  atEnd(() => calls.close());

  const egress = createEgress({ allow: settings.egressAllow ?? [] });
  atEnd(() => egress.close());
  const databases = createDatabases({ store, vault, egress, time });
  atEnd(() => databases.close());
  const sandbox = createSandbox({
    time,
    report,
    processes: settings.sandboxProcesses,
    cpuMsPerMinute: settings.sandboxCpuSeconds * 1_000,
  });
  atEnd(() => sandbox.close());
  const expressions = createExpressions(sandbox);
  const agents = createAgents({
    store,
    feed,
    vault,
    egress,
    sandbox,
    expressions,
    time,
    models: calls.preflight,
  });
  atEnd(() => agents.stop());
  const turns = createTurns({
    models: calls.models,
    catalogue: access.catalogue,
    tools: agents.tools,
    runnableAgent: (scope, id, role) => agents.runnableAgent(scope, id, role),
    contextStrict: settings.contextStrict,
    time,
    refusalOf,
    note: environment.note,
    report,
  });
  const consumers = createConsumers({ store, reads, feed, figuresOf: figuresOfConsumers, time });
  atEnd(() => consumers.stop());
  const sessions = createSessions({
    store,
    reads,
    actors,
    agents,
    models: calls.models,
    turns,
    sealer,
    tenantAtWork: identity.tenantAtWork,
    isDenied: consumers.isDenied,
    factsOf: consumers.factsOf,
    nameOf: consumers.nameOf,
    isKnownConsumer: consumers.isKnown,
    findPromised,
    time,
    newId: randomUUID,
    report,
  });
  const lookUp = environment.lookUp ?? systemRecords();
  const mailDomains = createMailDomains({
    store,
    reads,
    lookUp,
    operatorDomain: settings.mailDomain,
    time,
    newId: randomUUID,
    randomBytes,
  });
  const triggers = await makeTriggers(environment, stores, {
    vault,
    sealer,
    egress,
    sandbox,
    expressions,
    quota,
    failures,
    keys,
    agents,
    databases,
    mail,
    mailDomains: mailDomains.domains,
    lookUp,
    sessions,
    consumers,
  });
  return {
    actors,
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
    agents,
    consumers,
    databases,
    sessions,
    triggers,
  };
}
