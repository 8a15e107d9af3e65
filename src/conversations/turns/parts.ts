import type { Time } from '../../../cluster/index.js';
import type { AgentsSubject } from '../../agents/index.js';
import type { CallOrder, ModelCalls } from '../../models/calls/index.js';
import type { Spans } from '../../infra/diagnostics/index.js';
import type { AnswerFit } from '../../models/response-format/index.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { Catalogue } from '../../llm/index.js';

export interface TurnsOptions {
  readonly models: Pick<ModelCalls, 'prepare' | 'vendorsOf'>;
  readonly catalogue: Catalogue;
  /** The time limits of model calls; the defaults if omitted. */
  readonly clocks?: CallOrder['clocks'];
  readonly tools: AgentsSubject['tools'];
  readonly runnableAgent: AgentsSubject['runnableAgent'];
  readonly agentVersion: AgentsSubject['agentVersion'];
  /** Compares answers with the schema that they must fit. */
  readonly fit: Pick<AnswerFit, 'of'>;
  /** Whether a tool is refused when the context lacks a value that it needs; otherwise this is only noted. */
  readonly contextStrict: boolean;
  /** Records the spans of turns; absent: nobody reads them. */
  readonly spans?: Spans | undefined;
  /** Translates a failure for the caller; undefined for unknown failures. */
  readonly refusalOf: (error: unknown) => PlatformError | undefined;
}

/** What a turn works with. */
export interface TurnsParts extends TurnsOptions {
  readonly time: Time;
  /** Writes to the log. */
  readonly note: (what: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Reports unknown failures; the turn itself ends as failed. */
  readonly report: (attempted: string, error: unknown) => void;
}
