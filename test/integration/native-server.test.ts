import { spawnSync } from 'node:child_process';
import {
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

interface Digests {
  readonly sha256: string;
  readonly gitBlob: string;
}

interface List {
  readonly files: Readonly<Record<string, Digests>>;
}

interface Check {
  readonly loadedHere: string;
  digestsOf(bytes: Uint8Array): Digests;
  faultsOf(folder: string, list: List): readonly string[];
  releasesWith(list: List, upstream: { url: string; tags: string }): readonly string[];
}

const root = new URL('../../../', import.meta.url);
const script = fileURLToPath(new URL('scripts/check-native.mjs', root));
const installed = fileURLToPath(new URL('node_modules/uWebSockets.js/', root));
const check = (await import(script)) as Check;
const list = JSON.parse(await readFile(new URL('scripts/native-server.json', root), 'utf8')) as List;

/** The installed package, with files that a test may replace. */
async function copyOfPackage(t: ExecutionContext): Promise<string> {
  const folder = await emptyFolder(t);
  for (const path of Object.keys(list.files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(join(installed, path), join(folder, path));
  }
  return folder;
}

async function emptyFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'native-server-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function replaced(folder: string, path: string): Promise<string> {
  const file = join(folder, path);
  await unlink(file);
  await copyFile(join(installed, path), file);
  return file;
}

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('the installed native server matches its list', (t) => {
  t.deepEqual(check.faultsOf(installed, list), []);
  t.like(run(), { status: 0, stderr: '' });
});

test('a binary that is longer, changed or replaced is detected', async (t) => {
  const longer = await copyOfPackage(t);
  await appendFile(await replaced(longer, check.loadedHere), '\0');
  const { status, stderr } = run('--folder', longer);
  t.is(status, 1);
  t.true(stderr.includes(`${check.loadedHere} differs from the recorded file`), stderr);

  const changed = await copyOfPackage(t);
  const file = await replaced(changed, check.loadedHere);
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  await writeFile(file, bytes);
  t.is(check.faultsOf(changed, list).length, 1);

  const swapped = await copyOfPackage(t);
  const other = Object.keys(list.files).find((path) => path.endsWith('.node') && path !== check.loadedHere);
  await unlink(join(swapped, check.loadedHere));
  await symlink(join(installed, other ?? ''), join(swapped, check.loadedHere));
  t.is(check.faultsOf(swapped, list).length, 1);
});

test('a changed, added or missing script of the package is detected', async (t) => {
  const folder = await copyOfPackage(t);
  await appendFile(await replaced(folder, 'dist/uws.mjs'), '// more');
  await writeFile(join(folder, 'dist', 'more.cjs'), '');
  await unlink(join(folder, 'package.json'));
  const faults = check.faultsOf(folder, list);
  t.is(faults.length, 3, faults.join('\n'));
  for (const path of ['dist/uws.mjs', 'dist/more.cjs', 'package.json']) {
    t.true(
      faults.some((fault) => fault.startsWith(`${path} `)),
      path,
    );
  }
});

test('the blobs in its tree identify a release of another repository, and no other matches', async (t) => {
  const url = await emptyFolder(t);
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    const { status, stderr } = spawnSync('git', ['-C', url, ...identity, ...args], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };
  git('init', '--quiet');
  git('config', 'uploadpack.allowFilter', 'true');
  const release = async (tag: string, binary: string): Promise<void> => {
    await writeFile(join(url, 'one.node'), binary);
    git('add', '.');
    git('commit', '--quiet', '-m', tag);
    git('tag', tag);
  };
  await release('v1.0.0', 'before');
  await release('v1.1.0', 'the binary');
  await release('v1.2.0', 'after');
  const listed = (text: string): List => ({
    files: { 'dist/bin/one.node': check.digestsOf(Buffer.from(text)) },
  });
  const upstream = { url: `file://${url}`, tags: 'refs/tags/v1.*' };
  t.deepEqual(check.releasesWith(listed('the binary'), upstream), ['v1.1.0']);
  t.deepEqual(check.releasesWith(listed('another binary'), upstream), []);
});
