// The test files that took longest, from the notes of scripts/test-times.mjs.

const shown = 20;

/** @param {string} notes one JSON object per line */
export function slowestTests(notes) {
  const all = notes
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .toSorted((a, b) => b.ms - a.ms);
  const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;
  const sum = all.reduce((ms, one) => ms + one.ms, 0);
  return [
    `── the slowest of ${all.length} files, which took ${seconds(sum)} one after another`,
    ...all.slice(0, shown).map(({ file, ms }) => `${seconds(ms).padStart(8)}  ${file}`),
    '',
  ].join('\n');
}
