// Adds the optional packages of all platforms to package-lock.json. npm omits packages that it did not install
// (other platforms, or missing in the registry), and then `npm ci` refuses the lock file on another machine. An
// entry with its platform is enough: npm skips it on other platforms.
//
//   node scripts/lock.mjs           completes the file; run it after each `npm install`
//   node scripts/lock.mjs --check   fails if an entry is missing
//   node scripts/lock.mjs bench/peers   completes the file of another folder
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const systems = {
  aix: 'aix',
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  netbsd: 'netbsd',
  openbsd: 'openbsd',
  openharmony: 'openharmony',
  sunos: 'sunos',
  win32: 'win32',
  windows: 'win32',
};
const processors = {
  aarch64: 'arm64',
  arm: 'arm',
  arm64: 'arm64',
  armv7: 'arm',
  ia32: 'ia32',
  loong64: 'loong64',
  mips64el: 'mips64el',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  wasm32: 'wasm32',
  x64: 'x64',
};

const folder = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? '.';
const path = fileURLToPath(new URL(`../${folder}/package-lock.json`, import.meta.url));
const lock = JSON.parse(readFileSync(path, 'utf8'));
/** @type {[place: string, entry: object][]} */
const missing = [];
for (const [where, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if (!isListed(where, name)) missing.push([`node_modules/${name}`, entryOf(name, version, parent)]);
  }
}
if (process.argv.includes('--check')) {
  for (const [place] of missing) process.stderr.write(`lock: ${place} is missing in package-lock.json\n`);
  if (missing.length > 0) process.stderr.write('lock: run "node scripts/lock.mjs"\n');
  process.exit(missing.length === 0 ? 0 : 1);
}
if (missing.length > 0) {
  const entries = [...Object.entries(lock.packages), ...missing];
  lock.packages = Object.fromEntries(entries.sort(([one], [other]) => one.localeCompare(other, 'en')));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
}

/** Looks next to the dependent package and in the folders above, as Node does. */
function isListed(where, name) {
  for (let folder = where; ; folder = folder.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, '')) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true;
    if (folder === '') return false;
  }
}

function entryOf(name, range, parent) {
  const words = name.split('/').at(-1).split(/[-_]/);
  const os = words.map((word) => systems[word]).find(Boolean);
  const cpu = words.map((word) => processors[word]).find(Boolean);
  const libc = { musl: 'musl', gnu: 'glibc' }[words.find((word) => word === 'musl' || word === 'gnu')];
  return {
    version: range.replace(/^[\^~]/, ''),
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(parent.dev === true ? { dev: true } : {}),
    ...(os === 'linux' && libc !== undefined ? { libc: [libc] } : {}),
    optional: true,
    ...(os === undefined ? {} : { os: [os] }),
  };
}
