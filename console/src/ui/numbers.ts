const whole = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** `12,345`. */
export const count = (value: number): string => whole.format(value);

/** `12.3K`. */
export const shortCount = (value: number): string =>
  Math.abs(value) < 10_000 ? count(value) : compact.format(value);

/** Dollars; small amounts keep the digits that tell them apart. */
export function dollars(value: number): string {
  if (value === 0) return '$0';
  const digits = Math.abs(value) >= 1 ? 2 : Math.abs(value) >= 0.01 ? 4 : 6;
  return `$${value.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: digits })}`;
}

export const percent = (value: number): string =>
  `${value.toLocaleString(undefined, { maximumFractionDigits: 1 })} %`;

const units = ['bytes', 'kB', 'MB', 'GB'] as const;

/** `820 bytes`, `1.4 MB`. */
export function bytes(value: number): string {
  const power = value < 1_000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const shown = value / 1_000 ** power;
  return `${shown.toLocaleString(undefined, { maximumFractionDigits: power === 0 ? 0 : 1 })} ${units[power]}`;
}
