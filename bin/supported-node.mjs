// Every command imports this file first: it ends the process if package.json does not list this Node release under
// `engines`. The syntax is old on purpose, so that refused releases can parse it.
import { readFileSync } from 'fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const running = process.versions.node;

/** Whether the version lies in a range of the form `^20.19.0`. */
function lies(version, range) {
  const asked = version.split('.').map(Number);
  const least = range.replace('^', '').split('.').map(Number);
  if (asked[0] !== least[0]) return false;
  return asked[1] > least[1] || (asked[1] === least[1] && asked[2] >= least[2]);
}

const ranges = manifest.engines.node.split('||').map((range) => range.trim());
if (!ranges.some((range) => lies(running, range))) {
  const named = ranges.map((range) => `${range.replace('^', '')} or later ${range.slice(1).split('.')[0]}.x`);
  process.stderr.write(
    `troupe: Node ${running} is not supported; install Node ${named.join(', or ')}, then run the command again.\n`,
  );
  process.exit(1);
}
