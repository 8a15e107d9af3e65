import { systemRandom, systemTime } from '../../../cluster/index.js';
import type { Caller, KeyCaller } from '../../../src/kernel/caller.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { EdgeServer, type EdgeOptions, type RequestReport } from '../../../src/http/edge/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import {
  type Admission,
  type Authenticator,
  type Operation,
  OperationTable,
} from '../../../src/http/operations/index.js';

export const someTenant = '018f0000-0000-7000-8000-000000000001';

export function keyCaller(role: KeyCaller['role']): KeyCaller {
  return {
    kind: 'key',
    keyId: '018f0000-0000-7000-8000-000000000002',
    address: '127.0.0.1',
    scope: tenantScope(someTenant),
    role,
    limits: limitsOf('free', {}),
    requestsPerMinute: 10,
    quotaLimit: null,
  };
}

/** Admits everybody and counts nothing: the tests are about the edge, not the subjects behind it. */
export const openAdmission: Admission = {
  admitRequest: () => ({ figures: { limit: 10, remaining: 9, reset: 1 } }),
  admitModelWork: () => ({ figures: { limit: 10, remaining: 9, reset: 1 } }),
  noteRefusedWork: () => undefined,
  figuresOfAddress: () => ({ limit: 120, remaining: 120, reset: 1 }),
};

/** Knows each caller by the token that the test gave it. */
export function knowing(callers: ReadonlyMap<string, Caller>): Authenticator {
  return {
    authenticate({ bearer = '' }) {
      const caller = callers.get(bearer);
      if (caller === undefined) throw new Error('the test sent a token of nobody');
      return caller;
    },
  };
}

/** A real server on a free port in front of the given operations; the test sets the caller. */
export async function startEdge(
  operations: readonly Operation[],
  options: Partial<EdgeOptions> & {
    readonly caller?: Caller;
    readonly authenticator?: Authenticator;
    readonly admission?: Admission;
  } = {},
) {
  const reports: RequestReport[] = [];
  const server = new EdgeServer(
    {
      host: '127.0.0.1',
      port: 0,
      trustedProxies: [],
      corsOrigins: [],
      // A busy machine makes any process late.
      lagMsMax: Number.POSITIVE_INFINITY,
      ...options,
    },
    {
      table: new OperationTable(
        operations.map((one) => ({ ...one, audit: one.audit ?? { exempt: 'an operation of a test' } })),
      ),
      authenticator: options.authenticator ?? {
        authenticate: ({ address }) => options.caller ?? { kind: 'anonymous', address },
      },
      admission: options.admission ?? openAdmission,
      report: (report) => reports.push(report),
      refusalOf: () => undefined,
      time: systemTime,
      random: systemRandom,
    },
  );
  const port = await server.listen();
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    reports,
    close: () => server.close(AbortSignal.timeout(2_000)),
  };
}
