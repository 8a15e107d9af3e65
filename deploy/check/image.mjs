// Runs the steps of the Dockerfile without a Docker daemon: each stage in a root of its own, made by bubblewrap, with the
// machine's /usr in place of the base image. Then starts the image's command with a read-only root as its user, asks its
// health check, and stops it. Needs DATABASE_URL and REDIS_URL.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DockerfileParser } from 'dockerfile-ast';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { DATABASE_URL, REDIS_URL } = process.env;
if (!DATABASE_URL || !REDIS_URL)
  fail('set DATABASE_URL and REDIS_URL to servers that the started image may use');
const work = mkdtempSync(join(tmpdir(), 'troupe-image-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));

/** @type {Map<string, string>} the folder of each stage by its name */
const stages = new Map();
let stage = newStage();

for (const instruction of DockerfileParser.parse(
  readFileSync(join(root, 'Dockerfile'), 'utf8'),
).getInstructions()) {
  const keyword = instruction.getKeyword();
  const words = instruction.getArguments().map((one) => one.getValue());
  step(keyword, words, instruction);
}
await start();
process.stdout.write('deploy: image: its steps run, and it serves as its user on a read-only root\n');

function newStage() {
  const folder = mkdtempSync(join(work, 'stage-'));
  for (const name of ['tmp', 'data']) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${name}`, join(folder, name));
  return { folder, workdir: '/', user: '0:0', environment: {}, entrypoint: [], command: [], health: [] };
}

function step(keyword, words, instruction) {
  if (keyword === 'FROM') {
    stage = newStage();
    if (instruction.getBuildStage?.()) stages.set(instruction.getBuildStage(), stage.folder);
  } else if (keyword === 'WORKDIR') {
    stage.workdir = words[0];
    mkdirSync(join(stage.folder, words[0]), { recursive: true });
  } else if (keyword === 'ENV') {
    for (const property of instruction.getProperties())
      stage.environment[property.getName()] = property.getValue();
  } else if (keyword === 'COPY') copy(words, instruction.getFlags?.() ?? []);
  else if (keyword === 'RUN') run(instruction.getArgumentsContent() ?? '');
  else if (keyword === 'USER') stage.user = words[0];
  else if (keyword === 'ENTRYPOINT') stage.entrypoint = json(instruction);
  else if (keyword === 'CMD') stage.command = json(instruction);
  else if (keyword === 'HEALTHCHECK')
    stage.health = JSON.parse(/\[.*\]/.exec(instruction.getTextContent())?.[0] ?? '[]');
}

function json(instruction) {
  return JSON.parse(/\[.*\]/s.exec(instruction.getTextContent())?.[0] ?? '[]');
}

function copy(words, flags) {
  const from = flags.find((flag) => flag.getName() === 'from')?.getValue();
  const target = words.at(-1);
  const into = join(stage.folder, target.startsWith('/') ? target : join(stage.workdir, target));
  for (const source of words.slice(0, -1)) {
    if (from !== undefined)
      cpSync(join(stages.get(from), source), into, { recursive: true, verbatimSymlinks: true });
    else
      for (const file of context(source)) {
        const place = source === '.' ? file : relative(dirname(source), file);
        mkdirSync(dirname(join(into, place)), { recursive: true });
        cpSync(join(root, file), join(into, place));
      }
  }
}

/** The files of the build context: what git holds, as a fresh clone has it, and what is not committed yet. */
function context(source) {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard', '--', source];
  const { stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1_048_576 });
  return stdout.split('\n').filter((name) => name !== '');
}

function run(script) {
  // A comment between continued lines ends nothing for Docker, but would for a shell.
  const lines = script.split('\n').filter((line) => !/^\s*#/.test(line));
  const { status } = spawnSync('bwrap', [...sandbox(stage, false), 'sh', '-euc', lines.join('\n')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) fail(`a step failed: ${script}`);
}

/** Options of bubblewrap: the stage's folder as the root, the machine's programs, nothing else of the machine. */
function sandbox({ folder, workdir, user, environment }, readOnly) {
  const [uid, gid] = user.split(':');
  const bind = readOnly ? '--ro-bind' : '--bind';
  const settings = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', ...environment };
  return [
    bind,
    folder,
    '/',
    '--ro-bind',
    '/usr',
    '/usr',
    ...['/etc/resolv.conf', '/etc/ssl', '/etc/hosts', '/etc/passwd', '/etc/group', '/etc/npmrc'].flatMap(
      (path) => ['--ro-bind-try', path, path],
    ),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--unshare-pid',
    '--unshare-ipc',
    '--die-with-parent',
    '--clearenv',
    ...(readOnly
      ? [
          '--unshare-user',
          '--uid',
          uid,
          '--gid',
          gid,
          '--tmpfs',
          '/tmp',
          '--bind',
          join(folder, 'data'),
          '/data',
        ]
      : // Packages that this machine has fetched before, as a builder keeps them between builds.
        ['--bind-try', `${homedir()}/.npm`, '/tmp/.npm']),
    ...Object.entries(settings).flatMap(([name, value]) => ['--setenv', name, value]),
    ...Object.entries(process.env)
      .filter(([name]) => /^npm_config_|_proxy$/i.test(name))
      .flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    workdir,
  ];
}

async function start() {
  const port = '18080';
  chmodSync(join(stage.folder, 'data'), 0o777);
  chownSync(join(stage.folder, 'data'), 1000, 1000);
  Object.assign(stage.environment, {
    DATABASE_URL,
    REDIS_URL,
    TROUPE_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
    TROUPE_HTTP_HOST: '127.0.0.1',
    TROUPE_HTTP_PORT: port,
    TROUPE_GRPC_HOST: '127.0.0.1',
    TROUPE_GRPC_PORT: '0',
  });
  // As in a container, the node is process 1; the machine knows it by the id that bubblewrap tells.
  const words = [
    ...sandbox(stage, true),
    '--as-pid-1',
    '--info-fd',
    '3',
    ...stage.entrypoint,
    ...stage.command,
  ];
  const node = spawn('bwrap', words, { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] });
  let output = '';
  let information = '';
  node.stdio[3].on('data', (data) => (information += String(data)));
  node.stdout.on('data', (data) => (output += String(data)));
  const ended = new Promise((resolve) => node.on('exit', (code, signal) => resolve(code ?? signal)));
  const until = Date.now() + 60_000;
  while (spawnSync('bwrap', [...sandbox(stage, true), ...stage.health], { stdio: 'ignore' }).status !== 0) {
    if (Date.now() > until || node.exitCode !== null) fail(`the started image is not ready:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  process.kill(JSON.parse(information)['child-pid'], 'SIGTERM');
  const code = await ended;
  if (code !== 0 || !output.includes('"stopped"')) fail(`the image ended with ${code}:\n${output}`);
}

function fail(message) {
  process.stderr.write(`deploy: image: ${message}\n`);
  process.exit(1);
}
