import { type Ready, whenReady } from '../../../kernel/ready.js';
import type { ResponseSettings } from '../../triggers/config/webhook-config.js';
import type { TurnOutcome } from '../../triggers/ports.js';
import type { TurnFailure } from '../delivery-content.js';
import { emptyTwiml, type Rendered, renderSync } from './formats.js';
import { splitAnswer } from './split.js';
import { derivedTransform, type TextWay, transformed } from './transform.js';

export interface AnsweredTurn {
  readonly triggerId: string;
  readonly agentId: string;
  readonly executionId: string;
}

const timedOutText = 'The agent did not answer in time.';
const failedText = 'The agent could not answer.';

/** The response for the caller who waits for a turn. A blocked turn looks like any other block. */
export function syncAnswer(
  way: TextWay,
  config: ResponseSettings,
  ids: AnsweredTurn,
  turn: TurnOutcome,
): Ready<Rendered> {
  if (turn.outcome === 'BLOCKED' || turn.outcome === 'SUSPENDED') return emptyTwiml;
  const { format } = config.response_adapter;
  const failed = turn.outcome === 'FAILED';
  return whenReady(syncText(way, config, turn), (text) => {
    const { chunks } = splitAnswer(text, config.execution.split_config);
    return renderSync(format, {
      ...ids,
      success: !failed,
      text,
      chunks,
      messages: chunks,
      totalTokens: turn.totalTokens,
      latencyMs: turn.latencyMs,
      errorCode: failed ? (turn.error?.code ?? 'internal_error') : undefined,
    });
  });
}

/** Whether the waiting caller receives less than the whole text: only lists and TwiML are split or cut. */
export function isSyncAnswerCut(way: TextWay, config: ResponseSettings, turn: TurnOutcome): Ready<boolean> {
  const { split_config: split } = config.execution;
  const { format } = config.response_adapter;
  if (format !== 'erp' && format !== 'twiml') return false;
  if (!split.enabled && split.text_max === undefined) return false;
  return whenReady(syncText(way, config, turn), (text) => splitAnswer(text, split).truncated);
}

function syncText(
  way: TextWay,
  { response_adapter: { format } }: ResponseSettings,
  turn: TurnOutcome,
): Ready<string> {
  return transformed(way, textOf(turn), derivedTransform(format));
}

/**
 * The text to send; empty for nothing, which white space is too. A sender who waits in a channel or for a mail reads of a
 * timeout in words, as in sync mode. A callback gets answers only: it asks for failures with `send_failures`. A failed
 * turn has no answer: its execution records the failure.
 */
export function outgoingText(turn: TurnOutcome, to: 'callback' | 'sender'): string {
  const isSent = turn.outcome === 'COMPLETED' || (turn.outcome === 'TIMEOUT' && to === 'sender');
  const text = isSent ? textOf(turn) : '';
  return text.trim() === '' ? '' : text;
}

/** The failure that a callback reports for a turn that did not end as COMPLETED; undefined for an answer. */
export function failureOf({ outcome, error }: TurnOutcome): TurnFailure | undefined {
  if (outcome === 'COMPLETED') return undefined;
  return error ?? { code: outcome.toLowerCase(), message: failureTexts[outcome] };
}

const failureTexts: Record<Exclude<TurnOutcome['outcome'], 'COMPLETED'>, string> = {
  TIMEOUT: timedOutText,
  FAILED: failedText,
  CANCELLED: 'The turn was cancelled.',
  BLOCKED: 'The message was blocked.',
  SUSPENDED: 'The session is taken over by a person.',
};

function textOf({ outcome, content }: TurnOutcome): string {
  if (content.trim() !== '') return content;
  if (outcome === 'TIMEOUT') return timedOutText;
  return outcome === 'FAILED' ? failedText : content;
}
