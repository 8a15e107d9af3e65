// Fails on any warning of Redocly or Spectral about docs/openapi.json; scripts/lint-openapi.mjs installs them first.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import parsers from '@stoplight/spectral-parsers';
import core from '@stoplight/spectral-core';
import rules from './spectral.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const path = 'docs/openapi.json';

/** Redocly's report. The variables keep it from asking the network for news. */
function redocly() {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      'scripts/openapi-rules/node_modules/@redocly/cli/bin/cli.js',
      'lint',
      path,
      '--config=scripts/openapi-rules/redocly.yaml',
      '--format=json',
      '--max-problems=100',
    ],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  const report = stdout.slice(stdout.indexOf('{'));
  if (report === '') return [`redocly ended with ${status}: ${stderr}`];
  const { problems } = JSON.parse(report);
  return problems
    .filter(({ ignored }) => ignored !== true)
    .map(({ ruleId, message, location }) => `redocly: ${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
}

async function spectral() {
  const linter = new core.Spectral();
  linter.setRuleset(new core.Ruleset(rules, { source: `${root}scripts/openapi-rules/spectral.mjs` }));
  const document = new core.Document(readFileSync(`${root}${path}`, 'utf8'), parsers.Json, `${root}${path}`);
  const found = await linter.run(document);
  return found.map(({ code, message, path: place }) => `spectral: ${code}: ${message} ${place.join('.')}`);
}

const problems = [...redocly(), ...(await spectral())];
for (const problem of problems) process.stderr.write(`openapi: ${problem}\n`);
process.exit(problems.length === 0 ? 0 : 1);
