import type { Time } from '../../../cluster/index.js';
import type { AgentsSubject } from '../../agents/index.js';
import type { CallOrder, ModelCalls } from '../../models/calls/index.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { Catalogue } from '../../llm/index.js';

/** What turns are made with. */
export interface TurnsParts {
  readonly models: Pick<ModelCalls, 'prepare' | 'vendorsOf'>;
  readonly catalogue: Catalogue;
  /** Of model calls; what is usual when left out. */
  readonly clocks?: CallOrder['clocks'];
  readonly tools: AgentsSubject['tools'];
  readonly runnableAgent: AgentsSubject['runnableAgent'];
  /** Whether a tool is refused when the context does not hold what it needs of it; else that is only noted. */
  readonly contextStrict: boolean;
  readonly time: Time;
  /** What a failure that is no refusal by itself means for whoever asked; undefined for what nobody foresaw. */
  readonly refusalOf: (error: unknown) => PlatformError | undefined;
  /** For the log. */
  readonly note: (what: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Hears of failures that nobody foresaw; the turn itself ends as failed. */
  readonly report: (attempted: string, error: unknown) => void;
}
