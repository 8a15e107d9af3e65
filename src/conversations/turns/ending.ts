import { PlatformError } from '../../kernel/errors.js';
import { storableText, storableValue } from '../../kernel/storable-text.js';
import { TurnParked } from './approvals.js';
import { TurnInterrupted, TurnLost } from './interruption.js';
import type { ModelClock, QuickReplies, TurnEnd } from './turn.js';
import type { TurnWork } from './turn-work.js';

type Ending = Pick<TurnEnd, 'outcome' | 'timeoutClock' | 'error' | 'parsed'>;

/** The end of the turn, with the steps whose results were not recorded yet. */
export function turnEnd(work: TurnWork, ending: Ending, blocks: readonly QuickReplies[]): TurnEnd {
  const { output, totals, steps } = work;
  return {
    ...ending,
    content: output.text,
    blocks,
    steps: steps.takeWaiting(),
    usage: totals.usage,
    cost: totals.cost,
    admitted: totals.admitted,
    model: totals.model,
    provider: totals.provider,
    latencyMs: output.elapsedMs,
    firstTokenMs: output.firstTokenMs,
    toolCalls: totals.toolCalls,
  };
}

/** The end of a turn that was stopped by an error. Throws if this process no longer owns the turn, or the turn waits. */
export function endingOf(error: unknown, { parts, interruption }: TurnWork): Ending {
  if (error instanceof TurnLost || error instanceof TurnParked) throw error;
  // After an interruption, every error counts as its consequence.
  const by = error instanceof TurnInterrupted ? error.by : interruption.by;
  switch (by) {
    case 'lost':
      throw new TurnLost(error);
    case 'cancelled':
      return { outcome: 'CANCELLED' };
    case 'suspended':
      return { outcome: 'SUSPENDED' };
    case 'deadline':
      return { outcome: 'TIMEOUT', timeoutClock: 'turn' };
    case undefined:
      return failureOf(error, parts);
  }
}

function failureOf(error: unknown, { refusalOf, report }: TurnWork['parts']): Ending {
  const refusal = error instanceof PlatformError ? error : refusalOf(error);
  if (refusal === undefined) {
    report('running a turn', error);
    const { code, message } = new PlatformError('internal_error');
    return { outcome: 'FAILED', error: { code, message } };
  }
  const clock = clockOf(refusal);
  if (clock !== undefined) return { outcome: 'TIMEOUT', timeoutClock: clock };
  const { code, message, details } = refusal;
  return {
    outcome: 'FAILED',
    error: {
      code,
      message: storableText(message),
      ...(details !== undefined && { details: storableDetails(details) }),
    },
  };
}

function storableDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [storableText(name), storableValue(value)]),
  );
}

const clocks: readonly ModelClock[] = ['turn', 'first_signal', 'idle', 'call'];

function clockOf({ code, details }: PlatformError): ModelClock | undefined {
  return code === 'provider_timeout' ? clocks.find((clock) => clock === details?.['clock']) : undefined;
}
