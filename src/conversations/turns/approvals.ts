/** Calls that a person approves before they are made. */
import type { Arguments, ReadCall } from './tool-call.js';
import type { Toolset } from './toolset.js';
import type { ApprovalDecision, RecordedStep } from './turn.js';
import type { TurnWork } from './turn-work.js';

export interface WantedApproval {
  /** The place of the call in the turn: the same whenever the turn is replayed. */
  readonly place: string;
  readonly callId: string;
  readonly tool: string;
  readonly arguments: Arguments;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/**
 * The turn waits for people. Nothing of it runs meanwhile; it is run again once every approval is decided, and the
 * recorded steps lead it back to the same calls.
 */
export class TurnParked extends Error {
  override readonly name = 'TurnParked';
  readonly approvals: readonly WantedApproval[];
  /** Steps that are to be recorded together with the approvals. */
  readonly steps: readonly RecordedStep[];
  /** If a sub-agent waits: its version, which goes on after the wait. Null for a draft. */
  readonly agentVersion: number | null;

  constructor(
    approvals: readonly WantedApproval[],
    steps: readonly RecordedStep[],
    agentVersion: number | null = null,
  ) {
    super('the turn waits for approvals');
    this.approvals = approvals;
    this.steps = steps;
    this.agentVersion = agentVersion;
  }
}

export function decisionOn({ start, lineage }: TurnWork, stepNumber: number): ApprovalDecision | undefined {
  return start.approvals?.get(placeOf(lineage, stepNumber));
}

/** The calls of a round that nobody has decided yet; their steps begin at this number. */
export function undecided(
  work: TurnWork,
  calls: readonly ReadCall[],
  firstStep: number,
  { definitions }: Toolset,
): readonly WantedApproval[] {
  return calls.flatMap((call, index) => {
    if ('refusal' in call || call.tool.schema.editor_schema.approval !== 'always') return [];
    if (decisionOn(work, firstStep + index) !== undefined) return [];
    const { part, args } = call;
    return [
      {
        place: placeOf(work.lineage, firstStep + index),
        callId: part.id,
        tool: part.name,
        arguments: args,
        parameters: definitions.find(({ name }) => name === part.name)?.parameters ?? {},
      },
    ];
  });
}

/** What the model is told of a call that a person denied. */
export function denial(reason: string | null): string {
  const why = reason === null || reason === '' ? '' : ` The reason: ${reason}`;
  return `A person denied this call, so it was not made.${why}`;
}

export function noteOfChange(args: Arguments): string {
  return `[A person changed the arguments of this call to ${JSON.stringify(args)}]`;
}

function placeOf(lineage: string, stepNumber: number): string {
  return `${lineage}#${stepNumber}`;
}
