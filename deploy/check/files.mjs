// compose.yaml, the proxy's, Prometheus' and systemd's files, each by the program that reads it where that is installed, and
// every name in them against what it names.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { settingTable } from '../../dist/src/kernel/config/index.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const work = mkdtempSync(join(tmpdir(), 'troupe-deploy-'));
const notChecked = [];

try {
  checkCompose();
  checkProxy();
  checkUnit();
  checkSettings();
  checkRules();
  checkDashboards();
} finally {
  rmSync(work, { recursive: true, force: true });
}
if (notChecked.length > 0) process.stdout.write(`deploy: not checked here: ${notChecked.join('; ')}\n`);
process.stdout.write('deploy: files: as they should be\n');

function checkCompose() {
  const text = read('compose.yaml');
  const { services, secrets, volumes } = parse(text, { merge: true });
  const made = [...read('deploy/compose/make-secrets.sh').matchAll(/^make (\S+)/gm)].map(([, name]) => name);
  same('secrets of compose.yaml and of make-secrets.sh', Object.keys(secrets), made);
  const unbuilt = read('.dockerignore').split('\n');
  for (const { file } of Object.values(secrets)) {
    if (!unbuilt.some((line) => line !== '' && file.startsWith(`${line}/`)))
      fail(`.dockerignore lets the build read ${file}`);
  }
  if (!unbuilt.includes('**/.env*')) fail('.dockerignore lets the build read .env');
  for (const [name, service] of Object.entries(services)) {
    const { volumes: mounted = [], secrets: used = [], build, restart } = service;
    // With `on-failure` a service that ended in order stays down when the machine starts anew.
    if (restart !== 'unless-stopped' && name !== 'migrate')
      fail(`service ${name}: it does not start with the machine (restart: ${restart})`);
    for (const secret of used)
      if (!(secret in secrets)) fail(`service ${name}: there is no secret ${secret}`);
    for (const mount of mounted) {
      const [source] = mount.split(':');
      if (source.startsWith('./') ? !existsSync(join(root, source)) : !(source in volumes)) {
        fail(`service ${name}: there is no ${source}`);
      }
    }
    if (build !== undefined && !existsSync(join(root, build, 'Dockerfile')))
      fail(`service ${name}: no Dockerfile`);
  }
  // Debian 12 has a release that does not know the top-level name.
  const known = text.replace(/^name:.*\n/m, '');
  const [program, ...words] = isThere('docker', ['compose', 'version'])
    ? ['docker', 'compose']
    : ['docker-compose'];
  runIfThere(
    program,
    [...words, '--project-directory', root, '-f', '-', 'config', '-q'],
    'compose.yaml',
    known,
  );
}

function checkProxy() {
  // The names of the nodes exist only in the network of compose.
  const config = read('deploy/compose/haproxy.cfg').replace(/(server node-\d) node-\d:/g, '$1 127.0.0.1:');
  const file = join(work, 'haproxy.cfg');
  writeFileSync(file, config);
  runIfThere('haproxy', ['-c', '-q', '-f', file], 'deploy/compose/haproxy.cfg');
}

function checkUnit() {
  const unit = join(root, 'deploy/systemd/troupe.service');
  runIfThere('systemd-analyze', ['verify', '--recursive-errors=no', unit], 'deploy/systemd/troupe.service');
}

/** Settings are named in four files: a renamed one must be renamed there. */
function checkSettings() {
  const known = new Set(
    Object.values(settingTable).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
  );
  const files = [
    'Dockerfile',
    'compose.yaml',
    'deploy/systemd/troupe.service',
    'deploy/helm/troupe/values.yaml',
    'deploy/helm/troupe/templates/_helpers.tpl',
    'deploy/helm/troupe/templates/statefulset.yaml',
  ];
  for (const file of files) {
    for (const [name] of read(file).matchAll(
      /\b(?:TROUPE_[A-Z_]*[A-Z]|DATABASE_URL(?:_FILE)?|REDIS_URL(?:_FILE)?)\b/g,
    )) {
      if (!known.has(name)) fail(`${file}: there is no setting ${name}`);
    }
  }
}

/** Each alert has a page that says what to do, and a test in which it fires. */
function checkRules() {
  const rules = parse(read('deploy/prometheus/alerts.yaml')).groups.flatMap((group) => group.rules);
  const tested = new Set(
    parse(read('deploy/check/alerts.test.yaml'))
      .tests.flatMap((test) => test.alert_rule_test)
      .filter(({ exp_alerts: expected }) => expected.length > 0)
      .map(({ alertname }) => alertname),
  );
  for (const { alert } of rules)
    if (!tested.has(alert)) fail(`alert ${alert}: it fires in no test of deploy/check/alerts.test.yaml`);
  for (const { alert, annotations } of rules) {
    const page = annotations?.runbook;
    if (page === undefined || !existsSync(join(root, page))) fail(`alert ${alert}: there is no page ${page}`);
  }
  runIfThere(
    'promtool',
    ['check', 'rules', '--lint-fatal', join(root, 'deploy/prometheus/alerts.yaml')],
    'alerts.yaml',
  );
  runIfThere('promtool', ['test', 'rules', join(root, 'deploy/check/alerts.test.yaml')], 'alerts.test.yaml');
  const config = read('deploy/compose/prometheus.yaml')
    .replace('/etc/prometheus/rules', join(root, 'deploy/prometheus'))
    .replace('/run/secrets/operator-token', join(root, 'package.json'));
  const file = join(work, 'prometheus.yaml');
  writeFileSync(file, config);
  runIfThere('promtool', ['check', 'config', file], 'deploy/compose/prometheus.yaml');
}

/** Each panel asks something that Prometheus can read, with the variables of Grafana filled in. */
function checkDashboards() {
  const rules = readdirSync(join(root, 'deploy/grafana')).flatMap((name) => {
    const { panels, uid } = JSON.parse(read(`deploy/grafana/${name}`));
    if (!panels.every(({ title, targets }) => title !== '' && targets.length > 0))
      fail(`deploy/grafana/${name}: a panel without a title or a query`);
    return panels.flatMap(({ id, targets }) =>
      targets.map(({ refId, expr }) => ({
        record: `${uid.replaceAll('-', '_')}:panel_${id}:${refId}`,
        expr: expr.replaceAll(/\$__(?:rate_interval|range)\b/g, '5m').replaceAll(/\$\w+/g, '.*'),
      })),
    );
  });
  const file = join(work, 'dashboards.yaml');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));
  runIfThere('promtool', ['check', 'rules', '--lint-fatal', file], 'deploy/grafana');
}

function isThere(program, words) {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0;
}

function runIfThere(program, words, what, input) {
  const { error, status, stdout, stderr } = spawnSync(program, words, { input, encoding: 'utf8' });
  if (error?.code === 'ENOENT') notChecked.push(`${what} by ${program}`);
  else if (status !== 0) fail(`${what}: ${program} says:\n${stdout}${stderr}`);
}

function same(what, some, others) {
  if (some.toSorted().join() !== others.toSorted().join()) fail(`${what} differ: ${some} and ${others}`);
}

function fail(message) {
  process.stderr.write(`deploy: ${message}\n`);
  process.exit(1);
}
