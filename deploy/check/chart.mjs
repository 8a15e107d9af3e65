// The Helm chart: `helm lint`, then `helm template` with several sets of values. Each object is checked against the types
// of Kubernetes, cert-manager and the Prometheus operator: unlike an API server, a compiler also refuses unknown fields.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { helm } from './helm.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const chart = `${root}deploy/helm/troupe`;

/** @type {Record<string, string[]>} each set of values, as arguments of Helm */
const installations = {
  default: [],
  everything: [
    '--set=autoscaling.enabled=true,serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus',
    '--set=ingress.enabled=true,ingress.host=troupe.example,ingress.tlsSecret=tls,ingress.className=nginx',
    '--set=extraSecrets[0].name=OPENAI_API_KEY,extraSecrets[0].secret=vendors,extraSecrets[0].key=openai',
    '--set=settings.TROUPE_PUBLIC_URL=https://troupe.example,podLabels.team=chat,podAnnotations.note=one',
    '--set=networkPolicy.httpFrom[0].namespaceSelector.matchLabels.name=ingress,imagePullSecrets[0].name=pull',
  ],
  'own certificate': ['--set=tls.secret=links'],
  'an issuer of the cluster': [
    '--set=tls.certManager.issuer.name=internal,tls.certManager.issuer.kind=ClusterIssuer',
  ],
  'a service mesh': ['--set=tls.certManager.enabled=false,tls.insecure=true,networkPolicy.enabled=false'],
};

/** @type {Record<string, { args: string[], says: string }>} values that must be refused, with words of the message */
const refused = {
  'no TLS between nodes': { args: ['--set=tls.certManager.enabled=false'], says: 'need TLS' },
  'an ingress without a host': { args: ['--set=ingress.enabled=true'], says: 'ingress.host is missing' },
  'an unknown value': { args: ['--set=replica=2'], says: 'replica' },
};

const places = {
  'apps/v1': 'kubernetes-models/apps/v1',
  'autoscaling/v2': 'kubernetes-models/autoscaling/v2',
  'batch/v1': 'kubernetes-models/batch/v1',
  'networking.k8s.io/v1': 'kubernetes-models/networking.k8s.io/v1',
  'policy/v1': 'kubernetes-models/policy/v1',
  v1: 'kubernetes-models/v1',
  'cert-manager.io/v1': '@kubernetes-models/cert-manager/cert-manager.io/v1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};

const program = helm();
const lint = spawnSync(program, ['lint', '--strict', chart], { encoding: 'utf8' });
if (lint.status !== 0) fail('helm lint', lint.stdout + lint.stderr);

const page = readFileSync(`${chart}/README.md`, 'utf8');
for (const value of Object.keys(parse(readFileSync(`${chart}/values.yaml`, 'utf8'))))
  if (!page.includes(`\`${value}\``)) fail(`${chart}/README.md`, `it does not name the value ${value}`);

/** Alerts on `up` name the job, which the operator of Prometheus takes from a label of the Service that the monitor names. */
function checkJob(objects) {
  const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor');
  if (monitor === undefined) return;
  const alerts = readFileSync(`${root}deploy/prometheus/alerts.yaml`, 'utf8');
  const named = new Set([...alerts.matchAll(/job="([^"]+)"/g)].map(([, job]) => job));
  const { jobLabel, selector } = monitor.spec;
  const selected = objects.filter(({ kind, metadata: { labels = {} } }) => {
    const wanted = Object.entries(selector.matchLabels);
    return kind === 'Service' && wanted.every(([label, value]) => labels[label] === value);
  });
  if (selected.length === 0) fail('the ServiceMonitor', 'selects no Service');
  for (const { metadata } of selected) {
    const job = metadata.labels[jobLabel] ?? metadata.name;
    if (!named.has(job))
      fail('the ServiceMonitor', `makes the job ${job}; alerts.yaml names ${[...named].join(', ')}`);
  }
}

const literals = [];
for (const [name, args] of Object.entries(installations)) {
  const { status, stdout, stderr } = template(args);
  if (status !== 0) fail(`helm template, ${name}`, stderr);
  const objects = parseAllDocuments(stdout)
    .map((document) => {
      if (document.errors.length > 0) fail(`helm template, ${name}`, String(document.errors[0]));
      return document.toJS();
    })
    .filter((object) => object !== null);
  for (const object of objects) literals.push(literalOf(name, object, literals.length));
  checkJob(objects);
}
checkTypes(literals);
for (const [name, { args, says }] of Object.entries(refused)) {
  const { status, stderr } = template(args);
  if (status === 0) fail(name, 'the chart accepts it');
  if (!stderr.includes(says)) fail(name, `the message does not say "${says}":\n${stderr}`);
}
process.stdout.write(
  `deploy: chart: ${literals.length} objects of ${Object.keys(installations).length} installations\n`,
);

function template(args) {
  return spawnSync(program, ['template', 'demo', chart, '--namespace', 'troupe', ...args], {
    encoding: 'utf8',
    maxBuffer: 16 * 1_048_576,
  });
}

/** An object literal with its declared type: the compiler refuses unknown and missing fields at every depth. */
function literalOf(installation, object, index) {
  const place = places[object.apiVersion];
  if (place === undefined) fail(installation, `no types are known for ${object.apiVersion} ${object.kind}`);
  return [
    `import type { I${object.kind} as T${index} } from '${place}/${object.kind}';`,
    `// ${installation}: ${object.kind} ${object.metadata?.name}`,
    `export const o${index}: T${index} = ${JSON.stringify(object, undefined, 2)};`,
  ].join('\n');
}

function checkTypes(texts) {
  const folder = mkdtempSync(join(here, '.types-'));
  writeFileSync(join(folder, 'objects.ts'), texts.join('\n'));
  const compiler = `${root}node_modules/typescript/bin/tsc`;
  const flags = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
    '--ignoreConfig',
  ];
  const words = [compiler, ...flags, 'objects.ts'];
  const { status, stdout } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  if (status !== 0) fail('the objects of the chart', stdout);
}

function fail(what, reason) {
  process.stderr.write(`deploy: ${what}: ${reason}\n`);
  process.exit(1);
}
