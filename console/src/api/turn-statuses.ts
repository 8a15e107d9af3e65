/** The states of a turn, as filters offer them. */
export const turnStatuses = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'timeout',
  'cancelled',
  'blocked',
] as const;

export type TurnStatus = (typeof turnStatuses)[number];
