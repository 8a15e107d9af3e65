// A figure of ratios: one bar for each comparison on a logarithmic scale, from the lowest to the highest round, with the
// median and the aim.
import type { Compared } from './report.js';

const width = 860;
const left = 430;
const right = 70;
const rowHeight = 26;
const top = 46;

export function figureOf(bench: string, rows: readonly Compared[]): string {
  const values = rows.flatMap(({ ratios, aim }) => [...ratios, ...(aim === undefined ? [] : [aim])]);
  const known = values.filter((value) => Number.isFinite(value) && value > 0);
  const low = Math.min(0.5, ...known) / 1.2;
  const high = Math.max(2, ...known) * 1.2;
  const x = (ratio: number): number =>
    left + ((Math.log(ratio) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - left - right);
  const height = top + rows.length * rowHeight + 30;
  const ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].filter(
    (tick) => tick >= low && tick <= high,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escaped(`${bench}: Troupe divided by its peers`)}</title>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="12" y="20" font-size="14" font-weight="600" fill="#1c1c1c">${escaped(bench)}: Troupe ÷ peer</text>`,
    `<text x="12" y="37" fill="#555">bar: lowest to highest round; dot: median; orange line: aim</text>`,
    ...ticks.flatMap((tick) => [
      `<line x1="${at(x(tick))}" y1="${top}" x2="${at(x(tick))}" y2="${height - 24}" stroke="${tick === 1 ? '#1c1c1c' : '#dddddd'}"/>`,
      `<text x="${at(x(tick))}" y="${height - 8}" text-anchor="middle" fill="#555">${tick}</text>`,
    ]),
    ...rows.flatMap((row, index) => bar(row, top + index * rowHeight, x)),
    '</svg>',
    '',
  ].join('\n');
}

function bar(
  { what, against, ratios, aim, isLost }: Compared,
  y: number,
  x: (ratio: number) => number,
): string[] {
  const sorted = ratios
    .filter((ratio) => Number.isFinite(ratio) && ratio > 0)
    .toSorted((one, other) => one - other);
  const [first = 1] = sorted;
  const last = sorted.at(-1) ?? 1;
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 1;
  const colour = isLost ? '#b3261e' : '#1f6f43';
  const centre = y + rowHeight / 2;
  const label = `${what} ÷ ${against ?? ''}`;
  return [
    `<text x="${left - 10}" y="${at(centre + 4)}" text-anchor="end" fill="#1c1c1c">${escaped(label.length > 66 ? `${label.slice(0, 65)}…` : label)}</text>`,
    `<rect x="${at(x(first) - 1)}" y="${at(centre - 5)}" width="${at(Math.max(2, x(last) - x(first) + 2))}" height="10" rx="3" fill="${colour}" opacity="0.35"/>`,
    `<circle cx="${at(x(middle))}" cy="${at(centre)}" r="5" fill="${colour}"/>`,
    `<text x="${at(Math.max(x(last), x(middle)) + 9)}" y="${at(centre + 4)}" fill="${colour}">${middle.toFixed(2)}</text>`,
    ...(aim === undefined
      ? []
      : [
          `<line x1="${at(x(aim))}" y1="${at(centre - 9)}" x2="${at(x(aim))}" y2="${at(centre + 9)}" stroke="#d97706" stroke-width="2"/>`,
        ]),
  ];
}

function at(value: number): string {
  return value.toFixed(1);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
