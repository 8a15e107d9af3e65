// Runs calls of the platform against test vendors, and keeps the results.
import {
  adaptersByVendor,
  AnswerBuilder,
  builtInModels,
  Catalogue,
  CircuitBreakers,
  LeaveController,
  runCall,
  VendorPools,
  type AttemptReport,
  type AttemptStart,
  type CallLimits,
  type CallOutcome,
  type CallPorts,
  type LeaveSignal,
  type Credential,
  type LlmAnswer,
  type LlmEvent,
  type LlmRequest,
  type Target,
} from '../../../../src/llm/index.js';
import { systemTime } from '../../../../cluster/index.js';
import type { VendorServer } from './vendor-server.js';

export const catalogue = new Catalogue(builtInModels());
let ids = 0;

export interface Finished {
  readonly events: readonly LlmEvent[];
  readonly batches: readonly (readonly LlmEvent[])[];
  readonly outcome: CallOutcome;
  readonly answer: LlmAnswer;
  readonly reports: readonly AttemptReport[];
}

export interface CallOptions {
  readonly request?: Partial<LlmRequest>;
  readonly limits?: CallLimits;
  readonly turnDeadlineMs?: number;
  readonly signal?: LeaveSignal;
  readonly ports?: Partial<CallPorts>;
  readonly mayEnlarge?: boolean;
  readonly onBatch?: (batch: readonly LlmEvent[]) => void | Promise<void>;
}

export function ask(text: string): LlmRequest {
  return { messages: [{ role: 'user', content: [{ type: 'text', text }] }], stream: true };
}

export function credential(vendor: string, baseUrl: string, more: Partial<Credential> = {}): Credential {
  return {
    id: `${vendor}-key`,
    vendor,
    payer: 'platform',
    baseUrl,
    reveal: () => 'sk-planted-secret-0001',
    ...more,
  };
}

export function target(modelId: string, server: VendorServer, more: Partial<Credential> = {}): Target {
  const model = catalogue.byId(modelId);
  if (model === undefined) throw new Error(`no model ${modelId}`);
  return { model, credential: credential(model.vendor, server.baseUrl, more) };
}

export function simTarget(modelId: string): Target {
  const model = catalogue.byId(modelId);
  if (model === undefined) throw new Error(`no model ${modelId}`);
  const reveal = (): undefined => undefined;
  return { model, credential: { id: 'sim', vendor: 'sim', payer: 'platform', baseUrl: '', reveal } };
}

export function testPorts(more: Partial<CallPorts> = {}): CallPorts {
  const adapters = adaptersByVendor([]);
  return {
    time: systemTime,
    chance: () => 0,
    newId: () => `attempt-${++ids}`,
    pools: new VendorPools(),
    breakers: new CircuitBreakers(),
    adapterOf: (vendor) => adapters.get(vendor),
    ...more,
  };
}

/** Runs one call to its end. */
export async function call(targets: readonly Target[], options: CallOptions = {}): Promise<Finished> {
  const reports: AttemptReport[] = [];
  const starts: AttemptStart[] = [];
  const given = options.ports ?? {};
  const ports = testPorts({
    ...given,
    beforeAttempt: async (start) => {
      starts.push(start);
      await given.beforeAttempt?.(start);
    },
    afterAttempt: async (report) => {
      reports.push(report);
      await given.afterAttempt?.(report);
    },
  });
  const batches: (readonly LlmEvent[])[] = [];
  const builder = new AnswerBuilder();
  const run = runCall(
    {
      plan: { targets, mayEnlarge: options.mayEnlarge ?? false },
      request: { ...ask('say hello'), ...options.request },
      signal: options.signal ?? new LeaveController(),
      ...(options.limits !== undefined && { limits: options.limits }),
      ...(options.turnDeadlineMs !== undefined && { turnDeadlineMs: options.turnDeadlineMs }),
    },
    ports,
    (events) => {
      batches.push(events);
      for (const event of events) builder.add(event);
      return options.onBatch?.(events);
    },
  );
  try {
    const outcome = await run;
    const last = reports.at(-1)?.target ?? targets[0];
    const origin = {
      vendor: last?.model.vendor ?? '',
      model: last?.model.id ?? '',
      credentialId: last?.credential.id ?? '',
    };
    return { events: batches.flat(), batches, outcome, answer: builder.build(origin), reports };
  } finally {
    if (given.pools === undefined) await ports.pools.close();
  }
}
