import { type TurnStatus, turnStatuses } from '../../api/turn-statuses';

export interface TurnsSearch {
  readonly session?: string;
  readonly agent?: string;
  readonly status?: TurnStatus;
  readonly trace?: string;
}

export function turnsSearchOf(given: Readonly<Record<string, unknown>>): TurnsSearch {
  const search: { -readonly [Name in keyof TurnsSearch]: TurnsSearch[Name] } = {};
  for (const name of ['session', 'agent', 'trace'] as const) {
    const value = given[name];
    if (typeof value === 'string' && value !== '') search[name] = value;
  }
  const status = turnStatuses.find((one) => one === given['status']);
  if (status !== undefined) search.status = status;
  return search;
}
