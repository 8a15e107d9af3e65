import { PlatformError } from '../../kernel/errors.js';
import { askModel, type CallSource, type ModelAnswer, type CallRequest } from './ask-model.js';
import { TurnLost } from './interruption.js';
import type { TurnPorts } from './turn.js';
import { mayBegin, type TurnWork } from './turn-work.js';

/**
 * One round of the model as a step: one call, its text published as it arrives, its answer recorded with what
 * follows.
 */
export async function modelRound(
  work: TurnWork,
  source: CallSource,
  request: CallRequest['request'],
): Promise<ModelAnswer> {
  const { ports, steps, output, totals } = work;
  ports.emit({ type: 'phase', name: 'model' });
  output.nextRound();
  const step = steps.begin('model', source);
  if (step.ended?.detail?.step === 'model') {
    const answer = step.ended.detail;
    output.repeat(answer.parts);
    count(totals, answer);
    return answer;
  }
  // While the step's start is recorded, the call is prepared and its ledger row is opened.
  const ready = mayBegin(work);
  // If the record is refused before the call awaits it (as while tokens are reserved), the unhandled rejection must
  // not end the process. Both await it later.
  ready.catch(() => undefined);
  try {
    const answer = await askModel(work, {
      source,
      request,
      again: step.again,
      onEvents: (events) => output.publish(events),
      mayAct: () => ports.mayAct(),
      ready,
      openWith: openWith(ports),
      ...(ports.onBooking !== undefined && { onBooking: ports.onBooking }),
    });
    steps.end(step, 'finished', answer);
    count(totals, answer);
    return answer;
  } catch (error) {
    await ready;
    steps.end(step, isTimeout(error) || work.interruption.by === 'deadline' ? 'timeout' : 'failed', null);
    throw error;
  }
}

/** A process whose write is refused has lost the turn. */
function openWith({ open }: TurnPorts): CallRequest['openWith'] {
  if (open === undefined) return undefined;
  return (row) =>
    open(row)?.catch((error: unknown) => {
      throw error instanceof TurnLost ? error : new TurnLost(error);
    });
}

function count(totals: TurnWork['totals'], answer: ModelAnswer): void {
  totals.add(answer);
  totals.askedLast(answer);
}

function isTimeout(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'provider_timeout';
}
