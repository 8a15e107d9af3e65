// The native HTTP server is installed as binaries packed by a third party. This script checks that the files which Node
// loads are identical, byte for byte, to those recorded in native-server.json.
//
//   node scripts/check-native.mjs                    the installed package
//   node scripts/check-native.mjs --folder <path>    another copy of it
//   node scripts/check-native.mjs --upstream         also checks that an upstream release holds the same git blobs; --url <url> for a mirror
//   node scripts/check-native.mjs --write            rewrites the list after an intended change of the package
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const listPath = fileURLToPath(new URL('native-server.json', import.meta.url));
const installed = fileURLToPath(new URL('../node_modules/uWebSockets.js', import.meta.url));

/** The binary that Node loads on this system, as named in the package's dist/uws.mjs. */
export const loadedHere = `dist/bin/uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;

/** Both digests of a file: SHA-256, and the git blob id of the same bytes. */
export function digestsOf(bytes) {
  return {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    gitBlob: createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex'),
  };
}

/** Paths, with slashes, of all files in the folder that Node could load. */
function codeIn(folder) {
  return readdirSync(folder, { recursive: true })
    .map((path) => relative(folder, join(folder, path)).split(sep).join('/'))
    .filter((path) => /\.(?:node|[cm]?js|json)$/.test(path))
    .sort();
}

/** The differences between the folder and the list, one line each. */
export function faultsOf(folder, { files }) {
  const present = codeIn(folder);
  const faults = present
    .filter((path) => files[path] === undefined)
    .map((path) => `${path} is not in the list`);
  for (const [path, expected] of Object.entries(files)) {
    if (!present.includes(path)) {
      faults.push(`${path} is missing`);
      continue;
    }
    const { sha256, gitBlob } = digestsOf(readFileSync(join(folder, path)));
    if (sha256 !== expected.sha256 || gitBlob !== expected.gitBlob) {
      faults.push(`${path} differs from the recorded file: SHA-256 ${sha256}, expected ${expected.sha256}`);
    }
  }
  if (files[loadedHere] === undefined)
    faults.push(`${loadedHere}, which this Node loads, is not in the list`);
  return faults;
}

/**
 * The upstream releases that contain all binaries of the list under their names. Only commits and trees are fetched: a
 * tree contains the blob id of each file, which is a digest of its bytes.
 */
export function releasesWith({ files }, { url, tags }) {
  const wanted = Object.entries(files).filter(([path]) => path.endsWith('.node'));
  const folder = mkdtempSync(join(tmpdir(), 'native-upstream-'));
  try {
    git(folder, 'init', '--quiet', '--bare');
    git(folder, 'remote', 'add', 'origin', url);
    git(folder, 'config', 'remote.origin.promisor', 'true');
    git(folder, 'config', 'remote.origin.partialclonefilter', 'blob:none');
    git(folder, 'fetch', '--quiet', '--depth', '1', '--filter=blob:none', 'origin', `${tags}:${tags}`);
    const names = git(folder, 'for-each-ref', '--format=%(refname:short)', 'refs/tags').split('\n');
    return names.filter(Boolean).filter((tag) => {
      const blobs = blobsOf(git(folder, 'ls-tree', '-r', tag));
      return wanted.every(([path, { gitBlob }]) => blobs.get(basename(path)) === gitBlob);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function blobsOf(listing) {
  return new Map(
    [...listing.matchAll(/^\d+ blob ([0-9a-f]{40})\t(.+)$/gm)].map(([, id, path]) => [basename(path), id]),
  );
}

function git(folder, ...args) {
  const { status, stdout, stderr, error } = spawnSync('git', ['-C', folder, ...args], {
    encoding: 'utf8',
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
  });
  if (status === 0) return stdout;
  throw new Error(`git ${args[0]} failed: ${error?.message ?? stderr.trim()}`);
}

function written(folder, list) {
  const files = Object.fromEntries(
    codeIn(folder).map((path) => [path, digestsOf(readFileSync(join(folder, path)))]),
  );
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { package: `${name}@${version}`, upstream: list.upstream, files };
}

function main() {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string', default: installed },
      upstream: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      url: { type: 'string' },
    },
  });
  const list = JSON.parse(readFileSync(listPath, 'utf8'));
  if (values.write) {
    writeFileSync(listPath, `${JSON.stringify(written(values.folder, list), null, 2)}\n`);
    return [];
  }
  const faults = faultsOf(values.folder, list);
  if (values.upstream && faults.length === 0) {
    const url = values.url ?? list.upstream.url;
    const releases = releasesWith(list, { url, tags: list.upstream.tags });
    if (releases.length === 0) faults.push(`no release in ${url} holds these binaries`);
    else process.stdout.write(`native: the binaries are those of ${releases.join(', ')} in ${url}\n`);
  }
  return faults;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = main();
  for (const fault of faults) process.stderr.write(`native: ${fault}\n`);
  if (faults.length > 0) {
    process.stderr.write(
      'native: reinstall with "npm ci"; if the error remains, do not run this installation\n',
    );
    process.exit(1);
  }
}
