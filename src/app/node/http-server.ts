import { createAuthenticator } from '../../http/authentication/index.js';
import { version } from '../../kernel/config/index.js';
import { Metrics, type ReadinessCheck, RecentErrors } from '../../infra/diagnostics/index.js';
import { attachmentOperations } from '../../conversations/attachments/index.js';
import { exportOperations } from '../../http/exports/index.js';
import { createDocuments } from '../../http/documents/index.js';
import { createRequestReporter, edgeMeasures, EdgeServer } from '../../http/edge/index.js';
import { OperationTable } from '../../http/operations/index.js';
import { consolePages, readConsole, referencePage } from '../console/index.js';
import { readWidget, widgetPage } from '../widget/index.js';
import { playgroundOperations } from '../playground/index.js';
import { createRealtime } from '../../conversations/realtime/index.js';
import { sessionExports } from '../../conversations/sessions/index.js';
import { visitorOperations } from '../../conversations/visitors/index.js';
import { makeVisitorSecret } from '../../tenancy/keys/index.js';
import { usageExport } from '../../models/usage/index.js';
import { createMcp } from '../../mcp/index.js';
import { createBilling } from '../../models/billing/index.js';
import { callsExport, createTelemetry } from '../../models/telemetry/index.js';
import type { NodeEnvironment } from './node-environment.js';
import { refusalOf, type Stores } from './stores.js';
import { endStreamsWithCredentials } from './stream-endings.js';
import type { Subjects } from './subjects.js';
import { clusterOperations } from '../cluster-operations.js';
import { tenantDeletionOperations } from '../deletion/index.js';
import { operatorOperations, OperatorReports } from '../operator/index.js';
import { diagnosticsOperations } from '../diagnostics-operations.js';

const bytesPerMegabyte = 1024 * 1024;

export function makeHttpServer(
  environment: NodeEnvironment,
  { platform, errorRecords }: Stores,
  subjects: Subjects,
) {
  const { settings, log, publicUrl, limits, atEnd } = environment;
  const { store, changes, time, ids } = platform;
  const { actors, identity, invites, keys, quota, vault, agents, calls, consumers, sessions } = subjects;
  let stopping = false;
  const recentErrors = new RecentErrors({ time, ids });
  const metrics = new Metrics({
    runningRequests: () => edge.runningRequests,
    lagMs: () => edge.overload.lagMs,
  });
  metrics.add(() => actors.measures());
  metrics.add(() => calls.measures());
  metrics.add(() => sessions.measures());
  metrics.add(() => subjects.refusals.text());
  metrics.add(() => subjects.triggers.measures());
  metrics.add(() => edgeMeasures(edge));
  const checks: readonly ReadinessCheck[] = [
    { name: 'database', check: () => store.directory(async () => undefined) },
    {
      name: 'changes',
      check: async () => {
        if (!changes.isFresh()) throw new Error('the change feed of this node is out of date');
      },
    },
    actors.readiness,
  ];
  const realtime = createRealtime(platform, { publish: (topic, text) => edge.publish(topic, text) });
  atEnd(() => realtime.stop());
  const mcp = createMcp(platform, {
    version,
    chats: sessions.chats,
    sessions: sessions.sessions,
    requests: subjects.requests,
    admission: quota.admission,
    realtime,
    publicUrl,
    corsOrigins: settings.corsOrigins,
    oidcIssuer: settings.oidcIssuer,
    platformErrorOf: refusalOf,
  });
  const bytes = (count: number): Uint8Array => platform.random.bytes(count);
  const consoleFiles = readConsole();
  if (consoleFiles === undefined)
    log.logger.warn('the console is not built, so "/" only says so: run "npm run build" and start again');
  const reference = referencePage({ files: consoleFiles, bytes });
  const documents = createDocuments({ version, url: publicUrl, soon: (run) => time.soon(run), reference });
  const table = new OperationTable(
    [
      ...identity.operations,
      ...invites.operations,
      ...keys.operations,
      ...quota.operations,
      ...vault.operations,
      ...agents.operations,
      ...subjects.databases.operations,
      ...calls.operations,
      ...subjects.responses.operations,
      ...consumers.operations,
      ...sessions.operations,
      ...visitorOperations({
        store,
        sessions: sessions.sessions,
        chats: sessions.chats,
        admission: sessions.admission,
        newSecret: () => makeVisitorSecret(bytes),
      }),
      ...attachmentOperations(subjects.attachments),
      ...realtime.operations,
      ...subjects.audit.operations,
      ...exportOperations(
        {
          ...sessionExports(store),
          usage: usageExport(store),
          calls: callsExport(store),
          audit: subjects.audit.exported,
        },
        time,
      ),
      ...subjects.mailDomains.operations,
      ...subjects.triggers.operations,
      ...createBilling(platform, { agentNames: (scope, ids) => agents.namesOf(scope, ids) }).operations,
      ...createTelemetry(platform, { version }).operations,
      ...tenantDeletionOperations(subjects.deletion),
      ...operatorOperations({
        reports: new OperatorReports(store, () => time.wallMs()),
        identity,
        vault,
        nowMs: () => time.wallMs(),
      }),
      ...clusterOperations(actors, store),
      ...diagnosticsOperations({
        time,
        checks,
        stopping: () => stopping,
        metrics,
        recentErrors,
        errorRecords,
        ownAgents: (scope, ids) => agents.namesOf(scope, ids),
      }),
      ...mcp.operations,
      ...documents.operations,
      ...playgroundOperations(),
    ],
    subjects.audit.trail,
    subjects.requests,
  );
  documents.describe(table);
  mcp.serve(table);
  const script = widgetPage(readWidget());
  const screens = consolePages({ files: consoleFiles, operations: table.operations, bytes });
  const edge = new EdgeServer(
    {
      host: settings.httpHost,
      port: settings.httpPort,
      trustedProxies: settings.trustedProxies,
      corsOrigins: settings.corsOrigins,
      lagMsMax: limits.lagMsMax,
      bounds: {
        connectionsPerAddress: settings.connectionsPerAddress,
        connections: settings.connections,
        bodyBytesPerAddress: settings.bodyMegabytesPerAddress * bytesPerMegabyte,
        bodyBytes: settings.bodyMegabytes * bytesPerMegabyte,
      },
    },
    {
      table,
      authenticator: createAuthenticator({
        verifyToken: identity.verifyToken,
        membershipOf: identity.membershipOf,
        authenticateKey: keys.authenticateKey,
        authenticateKeyToken: keys.authenticateKeyToken,
        authenticateVisitor: keys.authenticateVisitor,
        operatorToken: settings.operatorToken,
        failures: subjects.failures,
      }),
      allowsOrigin: keys.allowsOrigin,
      admission: quota.admission,
      report: createRequestReporter({ log, time, metrics, recentErrors, errorRecords }),
      refusalOf,
      time,
      random: platform.random,
      pages: (method, path, accept) => script(method, path) ?? screens(method, path, accept),
      onUntrustedForwarding: ({ header, address }) =>
        log.logger.warn(
          { header, address },
          'requests carry a forwarding header, but no proxy is trusted: all requests through a proxy count for the ' +
            "proxy's address. If this address is your proxy, add its range to TROUPE_TRUSTED_PROXIES",
        ),
    },
  );
  atEnd(endStreamsWithCredentials(edge.streams, keys, changes));
  // Registered last, so closed first: running requests finish while everything below still works.
  atEnd(async (signal) => {
    stopping = true;
    realtime.stop();
    sessions.stopStreams();
    mcp.stop();
    // Together: other nodes take over idle actors while this node answers its last requests.
    const hasOthers = actors.members().length > 1;
    await Promise.all([
      actors.beginLeave(),
      edge.close(signal),
      ...(hasOthers ? [subjects.triggers.handOver()] : []),
    ]);
  });
  return { edge, table, metrics };
}
