/** The periods of a budget. */
export const periods = [
  ['month', 'month'],
  ['day', 'day'],
] as const;
