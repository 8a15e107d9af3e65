// What one call of scripts/test.mjs runs: stages, each a run of ava, one after the other.
import { testFiles } from './test-files.mjs';
import { packsOf } from './test-packs.mjs';

/** Fewer files are not worth packs. */
const packedMin = 20;
const filesOfPack = { unit: 24, integration: 6, nodes: 5 };

/** Whether a path or pattern names tests that need no database. */
export const isUnit = (pattern) => /^dist\/(?:test|packs)\/(?:unit\/|tidy\.|tables\.)/.test(pattern);
const isIntegration = (file) => file.startsWith('dist/test/integration/');

/**
 * @typedef {object} Plan
 * @property {string[]} files every test file, as far as they are known
 * @property {import('./test-packs.mjs').Pack[]} packs to be written before the run
 * @property {string[][]} stages the arguments of ava
 */

/**
 * @param {readonly string[]} words files and folders of dist/test; or patterns and options of ava
 * @returns {Plan}
 */
export function planOf(words) {
  const isForAva = words.some((word) => word.startsWith('-') || /[*?{[]/.test(word));
  if (isForAva) return { files: [], packs: [], stages: [[...words]] };
  const files = testFiles(words.length === 0 ? ['dist/test'] : words);
  if (files.length === 0)
    throw new Error(`No test file at ${words.join(', ')}: name files or folders of dist/test`);
  if (files.length < packedMin) return { files, packs: [], stages: [files] };
  const unit = files.filter(isUnit);
  const integration = files.filter(isIntegration);
  const nodes = files.filter((file) => !isUnit(file) && !isIntegration(file));
  const stages = [
    packsOf(unit, filesOfPack.unit),
    packsOf(integration, filesOfPack.integration),
    packsOf(nodes, filesOfPack.nodes),
  ].filter((packs) => packs.length > 0);
  return { files, packs: stages.flat(), stages: stages.map((packs) => packs.map(({ path }) => path)) };
}
